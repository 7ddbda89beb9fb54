"""A process of a command and its recorder: who has left is not asked any more."""

from __future__ import annotations

import socket
from pathlib import Path

from dask_blackbox.protocol.connection import call_recorder


def test_a_recorder_sees_that_a_connection_is_left(tmp_path: Path) -> None:
    path = str(tmp_path / "recorder.sock")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path)
        server.listen()
        link = call_recorder(path, timeout=0.0)
        connection, _ = server.accept()
        with connection:
            link.close()
            connection.settimeout(60.0)

            assert connection.recv(1) == b""
