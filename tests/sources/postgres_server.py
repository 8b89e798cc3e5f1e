"""A PostgreSQL server in a folder of its own, for as long as tests need it."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import adbc_driver_postgresql.dbapi

#: Who owns the databases; trusted by the server, so that this password says nothing.
OWNER = "tester"


def program(name):
    """Where a program of the server is; Debian has them off the path."""
    places = [*sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)]
    return shutil.which(name) or next((str(place / name) for place in places if (place / name).exists()), None)


def run(folder, *command):
    """Run a program of the server, which refuses to be run by root."""
    as_somebody = {"user": "nobody", "group": "nogroup", "extra_groups": []} if os.getuid() == 0 else {}
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=folder, **as_somebody)


@contextlib.contextmanager
def server(*, rules="local all all trust"):
    """Start a server that lets in by these rules, and give the folder of its socket."""
    # Not below pytest's own folder, which nobody but its owner may enter.
    with tempfile.TemporaryDirectory(prefix="truefit-postgres-") as folder:
        os.chmod(folder, 0o777)
        run(folder, program("initdb"), "-D", f"{folder}/data", "-U", OWNER, "-A", "trust", "--no-sync")
        Path(folder, "data", "pg_hba.conf").write_text(rules + "\n")
        options = f"-c listen_addresses='' -c fsync=off -k {folder}"
        control = (program("pg_ctl"), "-D", f"{folder}/data", "-w")
        run(folder, *control, "-o", options, "-l", f"{folder}/log", "start")
        try:
            yield folder
        finally:
            run(folder, *control, "-m", "immediate", "stop")


def execute(address, statements):
    with adbc_driver_postgresql.dbapi.connect(address, autocommit=True) as connection, connection.cursor() as cursor:
        for statement in statements.split(";"):
            if statement.strip():
                cursor.execute(statement)
