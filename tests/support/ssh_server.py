"""A real OpenSSH server on this host, for this user and a key of its own."""

from __future__ import annotations

import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from conditions import until

_CONFIGURATION = """\
Port {port}
ListenAddress 127.0.0.1
HostKey {folder}/host
AuthorizedKeysFile {folder}/key.pub
PidFile {folder}/sshd.pid
PasswordAuthentication no
StrictModes no
UsePAM no
"""
_PATH = "/usr/sbin:/usr/local/sbin:/sbin"


class Server(NamedTuple):
    """A server that runs.

    Attributes:
        port: Of it.
        key: File of the private key that it accepts.
    """

    port: int
    key: Path


def program() -> str | None:
    """Return the server's program; None: this host has none."""
    return shutil.which("sshd") or shutil.which("sshd", path=_PATH)


@contextmanager
def ssh_server(folder: Path) -> Iterator[Server]:
    """Run a server; end it, and what it started, afterwards."""
    for name in ("host", "key"):
        words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f"]
        subprocess.run([*words, str(folder / name)], check=True)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    (folder / "sshd_config").write_text(_CONFIGURATION.format(port=port, folder=folder))
    Path("/run/sshd").mkdir(exist_ok=True)  # where it separates privileges
    with (folder / "sshd.log").open("wb") as log:
        server = subprocess.Popen(
            [str(program()), "-D", "-e", "-f", str(folder / "sshd_config")],
            stdout=log, stderr=log, stdin=subprocess.DEVNULL,
        )  # fmt: skip

    def answers() -> bool:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=5):
                return True
        except OSError:
            return False

    try:
        until(answers, describe=(folder / "sshd.log").read_text)
        yield Server(port, folder / "key")
    finally:
        server.terminate()
        server.wait()
