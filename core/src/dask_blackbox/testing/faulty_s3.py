"""A proxy in front of a real S3 server that fails where, when and how it is asked to.

Tests of stores and of what uses them switch troubles on and off while it runs: before the
first request, from the n-th on, for one kind of blob, a few times, until further notice.
It listens on the loopback interface, in threads of the process that started it.
"""

from __future__ import annotations

import contextlib
import http.client
import os
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from dask_blackbox.testing.faults import Fault
from dask_blackbox.testing.s3_server import EmbeddedS3

_UPSTREAM = 60.0
_RESET = struct.pack("ii", 1, 0)
_HOPS = {"connection", "keep-alive", "transfer-encoding", "expect"}


class Asked(NamedTuple):
    """A request.

    Attributes:
        method: Of HTTP.
        name: Of the blob, below the bucket; empty for one about the bucket.
        query: What follows the `?`.
        fault: Whether it met a trouble.
    """

    method: str
    name: str
    query: str
    fault: bool


@dataclass
class Trouble:
    """A fault and the requests that meet it.

    Attributes:
        fault: What goes wrong.
        method: Of those requests; None: any.
        names: What their blobs' names look like, as in a shell (`*` takes `/` as well).
        after: So many of those requests are served before.
        times: How often it happens; None: until it is ended.
        met: How often it has happened.
    """

    fault: Fault
    method: str | None = None
    names: str = "*"
    after: int = 0
    times: int | None = None
    met: int = 0
    _over: threading.Event = field(default_factory=threading.Event)

    def end(self) -> None:
        """End the trouble."""
        self._over.set()

    def over(self, timeout: float | None = None) -> bool:
        """Wait until it has ended, for `timeout` seconds; tell whether it has."""
        return self._over.wait(timeout)

    def meets(self, method: str, name: str) -> bool:
        """Return whether a request meets it, and count it."""
        fits = self.method in {None, method} and fnmatchcase(name, self.names)
        if not fits or self._over.is_set() or self.met == self.times:
            return False
        if self.after:
            self.after -= 1
            return False
        self.met += 1
        return True


class FaultyS3:
    """A proxy in front of an S3 server; made by `faulty_s3`.

    Attributes:
        server: The same server, but reached by way of the proxy: its `endpoint`,
            `settings` and `environment` are what a store needs.
        behind: The server itself.
        asked: All requests so far.
    """

    def __init__(self, behind: EmbeddedS3) -> None:
        self.behind = behind
        self.asked: list[Asked] = []
        self._troubles: list[Trouble] = []
        self._lock = threading.Lock()
        self._connections: set[socket.socket] = set()
        self._serving: _Serving | None = _Serving(self, 0)
        self._port = self._serving.server_address[1]
        self.server = replace(behind, endpoint=f"http://127.0.0.1:{self._port}")

    def begin(
        self,
        fault: Fault,
        *,
        method: str | None = None,
        names: str = "*",
        after: int = 0,
        times: int | None = None,
    ) -> Trouble:
        """Start a trouble; see `Trouble` for the arguments."""
        trouble = Trouble(fault, method, names, after, times)
        with self._lock:
            self._troubles.append(trouble)
        return trouble

    def refuse(self) -> None:
        """Close the port, and every connection: nothing listens there any more."""
        serving, self._serving = self._serving, None
        if serving is not None:
            serving.end()
        with self._lock:
            connections = list(self._connections)
        for each in connections:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def work(self) -> None:
        """End all troubles, and listen again if it did not."""
        with self._lock:
            troubles, self._troubles = self._troubles, []
        for each in troubles:
            each.end()
        if self._serving is None:
            self._serving = _Serving(self, self._port)

    def close(self) -> None:
        """End the proxy."""
        self.refuse()
        for each in self._troubles:
            each.end()

    def count(self, names: str = "*", method: str = "PUT") -> int:
        """Return how many such requests were served without a fault."""
        return sum(
            each.method == method and fnmatchcase(each.name, names) and not each.fault
            for each in list(self.asked)
        )

    def _trouble_of(self, method: str, path: str) -> Trouble | None:
        parts = urlsplit(path)
        name = unquote(parts.path).lstrip("/").partition("/")[2]
        with self._lock:
            met = next((t for t in self._troubles if t.meets(method, name)), None)
            self.asked.append(Asked(method, name, parts.query, met is not None))
        return met


@contextmanager
def faulty_s3(behind: EmbeddedS3) -> Iterator[FaultyS3]:
    """Start a proxy in front of a server; end it at the end of the block."""
    proxy = FaultyS3(behind)
    try:
        yield proxy
    finally:
        proxy.close()


class _Serving(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, proxy: FaultyS3, port: int) -> None:
        self.proxy = proxy
        super().__init__(("127.0.0.1", port), _Handler)
        self._thread = threading.Thread(
            target=self.serve_forever, args=(0.02,), name="faulty-s3", daemon=True
        )
        self._thread.start()

    def end(self) -> None:
        self.shutdown()
        self._thread.join()
        self.server_close()

    def handle_error(self, request: object, client_address: object) -> None:
        """Print nothing: broken connections are intended here."""


class _Handler(BaseHTTPRequestHandler):
    """One connection; also the `Exchange` of the request that is being served."""

    protocol_version = "HTTP/1.1"
    server: _Serving

    def setup(self) -> None:
        super().setup()
        self._left, self._trouble = 0, Trouble(lambda _: None)
        self.server.proxy._connections.add(self.connection)  # noqa: SLF001 - one module

    def finish(self) -> None:
        self.server.proxy._connections.discard(self.connection)  # noqa: SLF001
        with contextlib.suppress(OSError, ValueError):
            super().finish()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Print nothing: `FaultyS3.asked` has the requests."""

    def _serve(self) -> None:
        self._left = int(self.headers.get("Content-Length") or 0)
        trouble = self.server.proxy._trouble_of(self.command, self.path)  # noqa: SLF001
        try:
            if trouble is None:
                self.send(self.forward())
            else:
                self._trouble = trouble
                trouble.fault(self)
        except OSError:
            self.close_connection = True

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _serve  # noqa: N815

    def read(self, most: int | None = None) -> bytes:
        body = self.rfile.read(self._left if most is None else min(most, self._left))
        self._left -= len(body)
        return body

    def send(self, answer: bytes) -> None:
        self.wfile.write(answer)
        self.wfile.flush()

    def over(self, timeout: float | None = None) -> bool:
        return self._trouble.over(timeout)

    def hang_up(self, *, reset: bool = False) -> None:
        self.close_connection = True
        if reset:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            os.close(self.connection.detach())

    def forward(self) -> bytes:
        parts = urlsplit(self.server.proxy.behind.endpoint)
        asking = http.client.HTTPConnection(parts.netloc, timeout=_UPSTREAM)
        try:
            asking.putrequest(
                self.command, self.path, skip_host=True, skip_accept_encoding=True
            )
            for name, value in self.headers.items():
                if name.lower() not in _HOPS:
                    asking.putheader(name, value)
            asking.endheaders(self.read())
            return _as_sent(asking.getresponse(), self.command)
        finally:
            asking.close()


def _as_sent(answer: http.client.HTTPResponse, method: str) -> bytes:
    body = answer.read()
    lines = [f"HTTP/1.1 {answer.status} {answer.reason}"]
    lines += [
        f"{name}: {value}"
        for name, value in answer.getheaders()
        if name.lower() not in _HOPS | {"content-length"}
    ]
    length = len(body) if method != "HEAD" else answer.getheader("Content-Length", "0")
    head = "\r\n".join([*lines, f"Content-Length: {length}", "", ""])
    return head.encode("latin-1") + body
