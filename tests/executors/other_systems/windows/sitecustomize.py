"""Takes from Python on Linux what Python on Windows does not have; every process that finds this folder imports it.

Windows hands sockets to running processes by ``share`` and ``fromshare``; here a local socket carries the descriptor.
"""

import mmap
import os
import signal
import socket
import subprocess  # noqa: F401 - takes what it needs of these modules before it goes
import sys
import tempfile
import threading

import psutil  # noqa: F401 - on Linux, unlike on Windows, it is built on what goes here

for name in ("fcntl", "grp", "pwd", "resource", "termios"):
    sys.modules[name] = None

for module, names in {
    mmap: "MADV_DONTNEED",
    os: "O_ACCMODE O_ASYNC P_PID WEXITED WNOWAIT fchmod fchown fork forkpty getpgid getpgrp geteuid getuid killpg "
    "pread pwrite sched_getaffinity setpgid setsid waitid",
    # SIGKILL stays: on Linux Popen.kill sends it.
    signal: "SIGALRM SIGCHLD SIGHUP SIGUSR1 SIGUSR2 pthread_sigmask setitimer",
}.items():
    for name in names.split():
        delattr(module, name)


def share(end, pid):
    path = os.path.join(tempfile.mkdtemp(prefix="handed-over-"), "socket")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(1)
    descriptor = os.dup(end.fileno())

    def hand_over():
        receiver, _ = listener.accept()
        socket.send_fds(receiver, [b"."], [descriptor])
        os.close(descriptor)
        receiver.close()
        listener.close()

    threading.Thread(target=hand_over, daemon=True).start()
    return path.encode()


def fromshare(path):
    with socket.socket(socket.AF_UNIX) as sender:
        sender.connect(path.decode())
        _, (descriptor,), _, _ = socket.recv_fds(sender, 1, 1)
    return socket.socket(fileno=descriptor)


socket.socket.share, socket.fromshare = share, fromshare
