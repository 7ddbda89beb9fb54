"""The API server asks no other server than the administrator permits, whatever a task says."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from airflow_dask_blackbox.addresses import TaskKey
from airflow_dask_blackbox.tab import recordings
from dask_blackbox.errors import BlackboxError, ConfigurationError

_KEY = TaskKey("dag", "run", "task")


class _Asked:
    """A server that notes who asks it what."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, dict[str, str]]] = []
        noted = self.requests

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                noted.append((self.path, dict(self.headers)))
                self.send_response(404)
                self.send_header("Content-Length", "0")
                self.end_headers()

            do_HEAD = do_PUT = do_GET  # noqa: N815

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
                """Print nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def asked() -> Iterator[_Asked]:
    server = _Asked()
    yield server
    server.close()


@pytest.fixture
def own(monkeypatch: pytest.MonkeyPatch) -> Iterator[_Asked]:
    """Return the server that the API server's own configuration names."""
    server = _Asked()
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "OWN")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "own-secret")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "own-session-token")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("AWS_ENDPOINT_URL", server.url)
    monkeypatch.delenv("AIRFLOW__DASK_BLACKBOX__TAB_STORES", raising=False)
    monkeypatch.delenv("AIRFLOW__DASK_BLACKBOX__TAB_CONNECTIONS", raising=False)
    recordings._stores.clear()
    yield server
    recordings._stores.clear()
    server.close()


def _look(**announced: object) -> None:
    place = recordings.place_of(_KEY, announced)
    with pytest.raises(BlackboxError):
        recordings.recordings_of(place, _KEY)


@pytest.mark.parametrize("stores", ["", "s3://good", "s3://good region=eu-west-1"])
def test_an_endpoint_that_a_task_chose_is_not_asked(
    asked: _Asked, own: _Asked, monkeypatch: pytest.MonkeyPatch, stores: str
) -> None:
    monkeypatch.setenv("AIRFLOW__DASK_BLACKBOX__TAB_STORES", stores)

    with pytest.raises(ConfigurationError, match="tab_stores"):
        _look(store="s3://good/x", settings={"endpoint": asked.url})

    assert asked.requests == []
    assert own.requests == []


@pytest.mark.parametrize("stores", ["", "s3://good"])
def test_without_a_choice_of_the_task_the_servers_own_endpoint_is_asked(
    asked: _Asked, own: _Asked, monkeypatch: pytest.MonkeyPatch, stores: str
) -> None:
    monkeypatch.setenv("AIRFLOW__DASK_BLACKBOX__TAB_STORES", stores)

    _look(store="s3://good/x", settings={"region": "x.example.com/"})

    assert own.requests
    assert asked.requests == []


def test_a_permitted_endpoint_is_asked(
    asked: _Asked, own: _Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(
        "AIRFLOW__DASK_BLACKBOX__TAB_STORES",
        f"s3://other, s3://good endpoint={asked.url}",
    )

    _look(store="s3://good/x", settings={"endpoint": asked.url})

    assert asked.requests
    assert own.requests == []


def test_an_endpoint_is_permitted_for_its_own_store_only(
    asked: _Asked, own: _Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(
        "AIRFLOW__DASK_BLACKBOX__TAB_STORES",
        f"s3://other, s3://good endpoint={asked.url}",
    )

    with pytest.raises(ConfigurationError, match="may not ask"):
        _look(store="s3://other/x", settings={"endpoint": asked.url})
    with pytest.raises(ConfigurationError, match="not among the stores"):
        _look(store="s3://evil/x", settings={"endpoint": asked.url})

    assert asked.requests == []


def _connection(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    described = {
        "conn_type": "aws",
        "login": "THEIRS",
        "password": "their-secret",
        "extra": {"endpoint_url": url},
    }
    monkeypatch.setenv("AIRFLOW_CONN_LAB", json.dumps(described))


@pytest.mark.parametrize("name", ["conn_id", "store_conn_id"])
def test_a_connection_that_a_task_chose_is_not_used_without_a_list(
    asked: _Asked, own: _Asked, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    _connection(monkeypatch, asked.url)

    _look(store="s3://good/x", **{name: "lab"})

    assert asked.requests == []
    assert own.requests


def test_a_connection_is_used_if_it_is_in_the_list(
    asked: _Asked, own: _Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    _connection(monkeypatch, asked.url)
    monkeypatch.setenv("AIRFLOW__DASK_BLACKBOX__TAB_CONNECTIONS", "first, lab")

    _look(store="s3://good/x", store_conn_id="lab")

    assert "THEIRS" in asked.requests[0][1]["Authorization"]
    assert own.requests == []


def test_a_connection_beside_the_list_is_refused(
    asked: _Asked, own: _Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    _connection(monkeypatch, asked.url)
    monkeypatch.setenv("AIRFLOW__DASK_BLACKBOX__TAB_CONNECTIONS", "first")

    with pytest.raises(ConfigurationError, match="tab_connections"):
        _look(store="s3://good/x", store_conn_id="lab")

    assert asked.requests == own.requests == []
