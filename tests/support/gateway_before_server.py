"""A gateway before Prefect's server that refuses requests, or is away for a time."""

from __future__ import annotations

import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

__all__ = ["Gateway", "gateway"]


_PUT_OFF, _ATTEMPTS = 503, 5
"""What the server answers while its database is locked; how often it is asked."""


class Gateway(ThreadingHTTPServer):
    """Hands requests on to Prefect's server, after it has refused some."""

    def __init__(self, api: str, refusals: int, status: int, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.api, self.refusals, self.status = api, refusals, status
        self.seen: list[str | None] = []
        self.turn = threading.Lock()

    def refuses(self, authorization: str | None) -> bool:
        with self.turn:
            self.seen.append(authorization)
            return len(self.seen) <= self.refusals


class _Handler(BaseHTTPRequestHandler):
    server: Gateway

    def do_GET(self) -> None:
        self._answer(None)

    def do_POST(self) -> None:
        self._answer(self.rfile.read(int(self.headers.get("Content-Length", 0))))

    do_PATCH = do_DELETE = do_POST  # noqa: N815 - their names

    def _answer(self, body: bytes | None) -> None:
        status, answer = self.server.status, b"{}"
        own = body is None  # the client's: for a token, or the server's version
        if own or not self.server.refuses(self.headers.get("Authorization")):
            path = self.path.removeprefix("/api")
            types = {"Content-Type": self.headers.get("Content-Type", "")}
            asked = urllib.request.Request(
                self.server.api + path, body, types, method=self.command
            )
            status, answer = _answer_of(asked)
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its name
        """Print nothing."""


def _answer_of(asked: urllib.request.Request) -> tuple[int, bytes]:
    """Ask again what a busy server puts off, as clients do that are not told not to."""
    status, answer = _PUT_OFF, b""
    for _ in range(_ATTEMPTS):
        try:
            with urllib.request.urlopen(asked) as made:
                return made.status, made.read()
        except urllib.error.HTTPError as refusal:
            status, answer = refusal.code, refusal.read()
            if status != _PUT_OFF:
                break
    return status, answer


@contextmanager
def gateway(
    api: str, *, refusals: int, status: int = 500, port: int = 0
) -> Iterator[Gateway]:
    """Run a gateway before the server at an address.

    Args:
        api: The address.
        refusals: How many requests it refuses.
        status: Its answer to these.
        port: Where it listens; 0: anywhere.
    """
    server = Gateway(api, refusals, status, port)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
