"""An HTTP server that keeps what clients post to it."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

__all__ = ["Post", "Receiver", "receiver"]


class Post(NamedTuple):
    """A request: its path, its headers by their names in lower case, its body decompressed."""

    path: str
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        """Return the body, read as JSON."""
        return json.loads(self.body)


class Receiver(NamedTuple):
    """A server's address, what was posted to it in order, and the codes that it still answers."""

    url: str
    posts: list[Post]
    codes: list[int]


@contextmanager
def receiver(*codes: int) -> Iterator[Receiver]:
    """Run a server that answers with these codes in turn, then always with the last one.

    Args:
        codes: 200 if none is given.  302 leads to another path of the same server.
    """
    posts: list[Post] = []
    left = [*codes] or [200]

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name.lower(): text for name, text in self.headers.items()}
            if headers.get("content-encoding") == "gzip":
                body = gzip.decompress(body)
            posts.append(Post(self.path, headers, body))
            code = left.pop(0) if len(left) > 1 else left[0]
            self.send_response(code)
            if code == 302:
                self.send_header("Location", f"http://{self.headers['Host']}/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield Receiver(f"http://127.0.0.1:{server.server_port}", posts, left)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
