"""Requests that a real server refuses at first, as Prefect's does while SQLite is locked."""

from __future__ import annotations

import base64
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from pathlib import Path
from typing import Any, TypeVar

import gateway_before_server
import httpx
import pytest
from conditions import scaled
from dask_blackbox.card import RunCard
from dask_blackbox.guard import guard
from gateway_before_server import Gateway
from prefect import flow
from prefect.settings import PREFECT_API_URL, temporary_settings
from prefect.states import Running
from prefect_dask_blackbox import retried_requests
from prefect_dask_blackbox.finalising import finalise_run
from prefect_dask_blackbox.identity import prefect_client

T = TypeVar("T")
HERE = Path(__file__).parent


@contextmanager
def gateway(*, refusals: int, status: int = 500, user: str = "") -> Iterator[Gateway]:
    """Have Prefect's API behind a gateway that refuses some requests."""
    api = str(PREFECT_API_URL.value())
    with gateway_before_server.gateway(api, refusals=refusals, status=status) as server:
        address = f"http://{user}127.0.0.1:{server.server_port}/api"
        with temporary_settings({PREFECT_API_URL: address}):
            yield server


def in_new_thread(do: Callable[[], T]) -> T:
    """Run something in a thread that has not waited yet, with the settings of this one."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(copy_context().run, do).result()


def read_flow_runs() -> None:
    with prefect_client() as client:
        client.read_flow_runs(limit=1)


@pytest.mark.parametrize("status", [500, 503, 504])
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
    # On an overloaded host, another pause would fit.
    monkeypatch.setattr(retried_requests, "extended", float)

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


@contextmanager
def nobody() -> Iterator[None]:
    """Have Prefect's API where nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        closed = f"http://127.0.0.1:{taken.getsockname()[1]}/api"
        with temporary_settings({PREFECT_API_URL: closed}):
            yield


def read_guarded(times: int) -> None:
    for number in range(times):
        with guard(f"request {number}"):
            read_flow_runs()


def test_a_server_that_is_away_is_one_line_and_asked_once(
    caplog: pytest.LogCaptureFixture,
    swallowed: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with nobody():
        in_new_thread(lambda: read_guarded(3))
        # It is asked again, and the outage is the same.
        monkeypatch.setattr(retried_requests, "_AWAY", 0.0)
        in_new_thread(lambda: read_guarded(2))

    assert [type(error).__name__ for _, error in swallowed] == [
        "ConnectError",
        *["StillAwayError"] * 4,
    ]
    [line] = [each.message for each in caplog.records if each.name == "dask_blackbox"]
    assert "without request 0: ConnectError: " in line
    # Of the server that answers nothing of that is held against it.
    in_new_thread(read_flow_runs)


@pytest.mark.parametrize("status", [429, 502, 503])
def test_a_request_that_a_gateway_refuses_ends_in_bounded_time(
    status: int,
    caplog: pytest.LogCaptureFixture,
    swallowed: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Prefect's client retries it for a minute, and a flow run ends with ten requests."""
    monkeypatch.setattr(retried_requests, "_MOST", 0.5)
    with gateway(refusals=10_000, status=status) as server:
        in_new_thread(lambda: read_guarded(1))
        before = len(server.seen)
        in_new_thread(lambda: read_guarded(4))

        assert len(server.seen) == before
    assert len(swallowed) == 5
    [line] = [each.message for each in caplog.records if each.name == "dask_blackbox"]
    assert "without request 0: ServerAwayError: Prefect's server did not answer" in line


def test_a_server_that_is_back_gets_all_requests(
    monkeypatch: pytest.MonkeyPatch, swallowed: Any
) -> None:
    monkeypatch.setattr(retried_requests, "_MOST", 0.5)
    with gateway(refusals=1, status=502) as server:
        in_new_thread(lambda: read_guarded(1))
        monkeypatch.setattr(retried_requests, "_AWAY", 0.0)
        in_new_thread(lambda: read_guarded(3))

        assert len(server.seen) == 4
    assert len(swallowed) == 1


def test_one_refusal_stops_no_other_request() -> None:
    """SQLite locks where many task runs get their states at once."""
    with gateway(refusals=6, status=503) as server, ThreadPoolExecutor(8) as pool:
        context = copy_context()
        sent = [pool.submit(context.copy().run, read_flow_runs) for _ in range(16)]
        for each in sent:
            each.result()

        assert len(server.seen) == 22


class OverdueError(Exception):
    """What the handler of a host's time limit raises."""


def test_what_a_signals_handler_raises_during_a_request_stays_what_it_is() -> None:
    def overdue(*_: object) -> None:
        raise OverdueError

    with socket.create_server(
        ("127.0.0.1", 0)
    ) as silent:  # it accepts, and says nothing
        address = f"http://127.0.0.1:{silent.getsockname()[1]}/api"
        before = signal.signal(signal.SIGALRM, overdue)
        try:
            with temporary_settings({PREFECT_API_URL: address}):
                # Not before: pydantic makes an error of its own of what is raised in it.
                signal.setitimer(signal.ITIMER_REAL, 0.5)
                with pytest.raises(OverdueError):
                    read_flow_runs()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)


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
