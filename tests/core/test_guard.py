"""The border to the host: our failures stay ours, and our tests see them."""

from __future__ import annotations

import functools
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import conditions
import pytest
from dask_blackbox.guard import guard

CONFTEST = Path(__file__).parents[1] / "conftest.py"


def look_out() -> None:
    raise LookupError("no window")


def interrupt() -> None:
    raise KeyboardInterrupt


def test_a_failure_of_ours_is_a_line_in_the_log_and_kept(
    swallowed: Any, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "dask_blackbox"), guard("the weather"):
        look_out()

    [(doing, error)] = swallowed
    assert doing == "the weather"
    assert isinstance(error, LookupError)
    assert caplog.messages == [
        "dask-blackbox continued without the weather: LookupError: no window"
    ]


def test_a_closed_standard_error_is_no_failure_of_the_hosts(
    swallowed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Standard(logging.StreamHandler[Any]):
        def emit(self, record: logging.LogRecord) -> None:
            raise ValueError("I/O operation on closed file.")

    monkeypatch.setattr(logging.getLogger("dask_blackbox"), "handlers", [Standard()])

    with guard("the weather"):
        look_out()

    assert len(swallowed) == 1


def test_an_interruption_is_not_ours_to_keep(swallowed: Any) -> None:
    with pytest.raises(KeyboardInterrupt), guard("the weather"):
        interrupt()

    assert not swallowed


class Deadline:
    """A time limit, as hosts set one."""

    def __call__(self, number: int, frame: object) -> None:
        raise TimeoutError("the host's")

    def as_method(self, number: int, frame: object) -> None:
        self(number, frame)


def over(limit: str, number: int, frame: object) -> None:
    raise TimeoutError(limit)


@pytest.mark.parametrize(
    "handler",
    [Deadline(), Deadline().as_method, functools.partial(over, "the host's")],
    ids=["object", "method", "partial"],
)
@pytest.mark.parametrize("wrapped", [False, True])
def test_a_time_limit_that_ends_while_our_code_runs_is_the_hosts(
    swallowed: Any,
    handler: Callable[[int, object], None],
    wrapped: bool,  # noqa: FBT001
) -> None:
    def wait() -> None:
        try:
            signal.raise_signal(signal.SIGALRM)
        except OSError as error:
            if wrapped:
                raise LookupError("not found") from error
            raise

    before = signal.signal(signal.SIGALRM, handler)
    try:
        with pytest.raises(TimeoutError, match="the host's"), guard("the weather"):
            wait()
    finally:
        signal.signal(signal.SIGALRM, before)

    assert not swallowed


def test_what_the_guard_swallows_fails_a_test(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST.read_text())
    (tmp_path / "test_it.py").write_text(
        "from dask_blackbox.guard import guard\n"
        "def test_quiet():\n    with guard('nothing'): pass\n"
        "def test_swallowing():\n    with guard('the weather'): 1 / 0\n"
        "def test_expecting(swallowed):\n    with guard('the weather'): 1 / 0\n"
    )

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", str(tmp_path)],
        cwd=tmp_path,
        # With deadlines that follow the load, where none is configured.
        env={
            "TEST_LOAD_FACTOR": "3",
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(Path(conditions.__file__).parent),
        },
        capture_output=True,
        text=True,
        check=False,
    )

    assert "3 passed, 1 error" in done.stdout
    assert "the guard swallowed this while the weather" in done.stdout
