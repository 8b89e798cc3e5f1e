"""Takes from Python on Linux what Python on macOS does not have; every process that finds this folder imports it."""

import fcntl
import os

for module, names in {
    fcntl: "F_SETSIG F_GETSIG",
    os: "O_TMPFILE P_PID WEXITED WNOWAIT memfd_create pidfd_open sched_getaffinity waitid",
}.items():
    for name in names.split():
        delattr(module, name)
