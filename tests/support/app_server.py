"""Serves an application on a free port of this machine."""

from __future__ import annotations

import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import uvicorn
from conditions import scaled
from dask_blackbox.layout import RunAddress
from dask_blackbox.serve.app import RequestTimeoutProtocol
from fastapi import FastAPI

__all__ = ["Answer", "Served", "page_of", "served"]


class Answer(NamedTuple):
    """What came back."""

    status: int
    headers: dict[str, str]
    text: str


class Served:
    """An application that is being served; call it with a path to ask it."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"

    def __call__(self, path: str, *, method: str = "GET", **headers: str) -> Answer:
        url = self.url + path
        request = urllib.request.Request(url, headers=headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=scaled(30)) as answer:
                return _read(answer)
        except urllib.error.HTTPError as error:
            with error:
                return _read(error)


def _read(answer: Any) -> Answer:
    headers = {name.lower(): value for name, value in answer.headers.items()}
    return Answer(answer.status, headers, answer.read().decode(errors="replace"))


@contextmanager
def served(
    app: FastAPI, protocol: type[RequestTimeoutProtocol] = RequestTimeoutProtocol
) -> Iterator[Served]:
    """Serve an application until the end of the block."""
    listener = socket.create_server(("127.0.0.1", 0))
    settings = uvicorn.Config(app, http=protocol, log_level="error", lifespan="off")
    server = uvicorn.Server(settings)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield Served(listener.getsockname()[1])
    finally:
        server.should_exit = True
        thread.join(timeout=scaled(30))
        listener.close()


def page_of(address: RunAddress) -> str:
    """Return the path of a run's page."""
    return f"/runs/{address.job}/{address.run}/{address.attempt}"
