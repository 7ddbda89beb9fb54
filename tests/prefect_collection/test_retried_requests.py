"""Requests that a real server refuses at first, as Prefect's does while SQLite is locked."""

from __future__ import annotations

import base64
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, TypeVar

import httpx
import pytest
from conditions import scaled
from dask_blackbox.card import RunCard
from prefect import flow
from prefect.settings import PREFECT_API_URL, temporary_settings
from prefect.states import Running
from prefect_dask_blackbox import retried_requests
from prefect_dask_blackbox.finalising import finalise_run
from prefect_dask_blackbox.identity import prefect_client

T = TypeVar("T")
HERE = Path(__file__).parent


class Gateway(ThreadingHTTPServer):
    """Hands requests on to Prefect's server, after it has refused some."""

    def __init__(self, api: str, refusals: int, status: int) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
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
        self._answer(self.rfile.read(int(self.headers["Content-Length"])))

    do_PATCH = do_POST  # noqa: N815 - its name

    def _answer(self, body: bytes | None) -> None:
        status, answer = self.server.status, b"{}"
        own = body is None  # the client's: for a token, or the server's version
        if own or not self.server.refuses(self.headers.get("Authorization")):
            path = self.path.removeprefix("/api")
            types = {"Content-Type": self.headers.get("Content-Type", "")}
            made = httpx.request(
                self.command, self.server.api + path, content=body, headers=types
            )
            status, answer = made.status_code, made.content
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its name
        """Print nothing."""


@contextmanager
def gateway(*, refusals: int, status: int = 500, user: str = "") -> Iterator[Gateway]:
    server = Gateway(str(PREFECT_API_URL.value()), refusals, status)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    address = f"http://{user}127.0.0.1:{server.server_port}/api"
    try:
        with temporary_settings({PREFECT_API_URL: address}):
            yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def in_new_thread(do: Callable[[], T]) -> T:
    """Run something in a thread that has not waited yet, with the settings of this one."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(copy_context().run, do).result()


def read_flow_runs() -> None:
    with prefect_client() as client:
        client.read_flow_runs(limit=1)


@pytest.mark.parametrize("status", [500, 504])
def test_what_the_server_failed_to_answer_is_sent_again(status: int) -> None:
    with gateway(refusals=3, status=status) as server:
        in_new_thread(read_flow_runs)

        assert len(server.seen) == 4


def test_a_refusal_is_not_retried() -> None:
    with gateway(refusals=1, status=409) as server:
        with pytest.raises(httpx.HTTPStatusError):
            in_new_thread(read_flow_runs)

        assert len(server.seen) == 1


def test_a_server_that_fails_for_good_takes_a_thread_a_bounded_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(retried_requests, "_MOST", 1.0)

    def count_requests() -> int:
        before = len(server.seen)
        with prefect_client() as client, pytest.raises(httpx.HTTPStatusError):
            client.read_flow_runs(limit=1)
        return len(server.seen) - before

    with gateway(refusals=10_000) as server:
        sent = in_new_thread(lambda: [count_requests() for _ in range(3)])
        elsewhere = in_new_thread(count_requests)

    # Pauses of at most 0.1, 0.2 and 0.4 s; another one of 0.8 s would be too many.
    assert sent == [4, 1, 1]
    assert elsewhere == 4


def test_a_user_in_the_address_of_the_api_still_signs_in() -> None:
    with gateway(refusals=1, user="ann:p%40ss@") as server:
        in_new_thread(read_flow_runs)

        signed_in = "Basic " + base64.b64encode(b"ann:p@ss").decode()
        assert server.seen == [signed_in, signed_in]


@flow
def idle() -> None: ...


def test_a_flow_run_is_ended_though_a_part_failed_and_the_failure_is_raised(
    swallowed: Any,
) -> None:
    card = RunCard(job="idle", run_id="r", state="aborted", headline="Killed")
    with prefect_client() as client:
        run = client.create_flow_run(idle, state=Running())
    host = {"flow_run_id": str(run.id), "flow_name": "idle"}

    with gateway(refusals=1, status=409), pytest.raises(httpx.HTTPStatusError):
        finalise_run(host, card, [])

    with prefect_client() as client:
        seen = client.read_flow_run(run.id)
    assert seen.state is not None
    assert (seen.state.type.value, seen.state.message) == ("CRASHED", "Killed")
    assert not finalise_run(host, card, [])
    assert len(swallowed) == 1


@pytest.mark.nightly
def test_a_process_that_only_finalises_can_make_states() -> None:
    """In the recorder nobody has imported flows, which completes Prefect's classes."""
    code = (
        "import prefect_dask_blackbox.finalising\n"
        "from prefect.states import Crashed, to_state_create\n"
        "print(to_state_create(Crashed(message='x')).message)\n"
    )

    made = subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        capture_output=True,
        text=True,
        timeout=scaled(120),
    )

    assert made.stdout == "x\n"


@pytest.mark.nightly
def test_a_task_run_whose_state_never_arrived_failed_according_to_its_log(
    prefect: Any, store: Path
) -> None:
    # It opens no websocket, by which Prefect sends the states of task runs.
    with gateway(refusals=0):
        subprocess.run(
            [sys.executable, str(HERE / "failing_flows.py"), "needs_a_failed_task"],
            env={
                **os.environ,
                "PREFECT_API_URL": str(PREFECT_API_URL.value()),
                "DASK_BLACKBOX__STORE__URL": str(store),
            },
            check=False,  # it fails
            timeout=scaled(300),
        )

    run = prefect.newest("needs-a-failed-task", store)
    assert run.message == "ValueError in 'refused': no orders for day 1"
