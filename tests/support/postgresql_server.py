"""A PostgreSQL of this machine's programs, with an empty database."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

__all__ = ["postgresql_programs", "postgresql_server"]


def postgresql_programs() -> Path | None:
    """Return the folder of the newest PostgreSQL of this machine."""
    debian = max(Path("/usr/lib/postgresql").glob("*/bin"), default=None)
    found = shutil.which("pg_ctl")
    return debian or (Path(found).parent if found is not None else None)


@contextmanager
def postgresql_server(programs: Path) -> Iterator[str]:
    """Run one until the end of the block; yield the URL of its database for SQLAlchemy.

    Args:
        programs: The folder of its programs.
    """
    # It does not run as root.
    user = "postgres" if os.getuid() == 0 else None
    with tempfile.TemporaryDirectory(prefix="pg-", dir="/tmp") as folder:
        if user is not None:
            shutil.chown(folder, user)
        with closing(socket.create_server(("127.0.0.1", 0))) as probe:
            port = probe.getsockname()[1]
        data = f"{folder}/data"
        options = f"-c listen_addresses=127.0.0.1 -c port={port} -c unix_socket_directories={folder} -c fsync=off"
        control = [str(programs / "pg_ctl"), "-D", data]
        made = [str(programs / "initdb"), "-D", data, "-A", "trust", "-U", "airflow"]
        subprocess.run(made, check=True, stdout=subprocess.DEVNULL, user=user)
        starting = [*control, "-w", "-o", options, "-l", f"{folder}/log", "start"]
        subprocess.run(starting, check=True, stdout=subprocess.DEVNULL, user=user)
        try:
            yield f"postgresql+psycopg2://airflow@127.0.0.1:{port}/postgres"
        finally:
            subprocess.run(
                [*control, "-m", "fast", "stop"],
                check=True,
                stdout=subprocess.DEVNULL,
                user=user,
            )
