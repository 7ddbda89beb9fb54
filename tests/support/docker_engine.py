"""A Docker Engine without containers: its API over HTTP, and the processes of its containers.

It runs the command of each container as a local process that has nothing of its parent's
environment but `PATH` and `HOME`, and sends its output as Docker does, in frames.  Every image
is there.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

__all__ = ["DockerEngine", "docker_engine"]

_VERSION = "1.44"
_PATH = re.compile(r"(?:/v[\d.]+)?/(\w+)(?:/(\w+))?(?:/(\w+))?")
_OUTPUT = b"\x01\0\0\0"
"""How a frame begins; the length follows, then the frame."""


class Container:
    """A container: what was asked for, and its process once it is started."""

    def __init__(self, asked: dict[str, Any]) -> None:
        self.asked = asked
        self.started = threading.Event()
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def environment(self) -> dict[str, str]:
        """The variables that it was given."""
        pairs = (each.partition("=") for each in self.asked.get("Env") or ())
        return {name: value for name, _, value in pairs}

    def start(self) -> None:
        """Run its command."""
        inherited = {name: os.environ[name] for name in ("PATH", "HOME")}
        self.process = subprocess.Popen(
            self.asked["Cmd"],
            env=inherited | self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        self.started.set()


class DockerEngine(ThreadingHTTPServer):
    """The API of one engine.

    Attributes:
        containers: By id.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.containers: dict[str, Container] = {}

    @property
    def url(self) -> str:
        """Its address, for `DOCKER_HOST`."""
        return f"tcp://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: DockerEngine

    def do_GET(self) -> None:
        _, kind, name, verb = self._asked()
        if kind == "version":
            self._answer({"ApiVersion": _VERSION, "MinAPIVersion": "1.24"})
        elif kind == "images":
            self._answer([{"Id": "sha256:1"}])
        elif kind == "containers" and verb == "json":
            self._answer({"Id": name, "Config": {"Tty": False}})
        else:
            self._answer(b"OK")

    def do_POST(self) -> None:
        body, kind, name, verb = self._asked()
        if kind == "containers" and name == "create":
            name = f"c{len(self.server.containers) + 1}"
            self.server.containers[name] = Container(json.loads(body))
            self._answer({"Id": name, "Warnings": []}, 201)
            return
        container = self.server.containers[name]
        if verb == "start":
            container.start()
            self._answer(b"", 204)
        elif verb == "attach":
            self._stream(container)
        else:
            container.started.wait()
            assert container.process is not None
            self._answer({"StatusCode": container.process.wait()})

    def do_DELETE(self) -> None:
        self._asked()
        self._answer(b"", 204)

    def _asked(self) -> tuple[bytes, str, str, str]:
        found = _PATH.match(self.path)
        kind, name, verb = found.groups("") if found else ("", "", "")
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        return body, kind, name, verb

    def _answer(self, value: object, status: int = 200) -> None:
        text = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def _stream(self, container: Container) -> None:
        self.send_response(101, "UPGRADED")
        self.send_header("Connection", "Upgrade")
        self.send_header("Upgrade", "tcp")
        self.end_headers()
        container.started.wait()
        assert container.process is not None
        assert container.process.stdout is not None
        for line in container.process.stdout:
            self.wfile.write(_OUTPUT + len(line).to_bytes(4) + line)
        self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Print nothing."""


@contextmanager
def docker_engine() -> Iterator[DockerEngine]:
    """Run an engine until the end of the block, with whatever its containers run."""
    engine = DockerEngine()
    threading.Thread(target=engine.serve_forever, daemon=True).start()
    try:
        yield engine
    finally:
        engine.shutdown()
        engine.server_close()
        for each in engine.containers.values():
            if each.process is not None:
                each.process.kill()
                each.process.communicate()
