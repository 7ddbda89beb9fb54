"""What the driver sends about the end of a run, and the card of a run without a recorder."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

from dask_blackbox.card import RunCard
from dask_blackbox.card_data import NOT_STORED, RunState
from dask_blackbox.driver.recorder_options import known_secrets
from dask_blackbox.errors import BlackboxError, StoreError
from dask_blackbox.finding import Evidence, Finding
from dask_blackbox.formatting import command, short
from dask_blackbox.guard import guard
from dask_blackbox.manifest import (
    TIME_LIMITS,
    DriverException,
    Ending,
    Kept,
    Manifest,
    Stopped,
)
from dask_blackbox.protocol.messages import End
from dask_blackbox.settings import name_misspelt_settings, setting
from dask_blackbox.store.url import Bucket, is_lost_with_container, place_of

_LONGEST, _READ, _CHECKED = 120, 2_000, 4_000
"""Characters of a headline, and of a message that are read for it."""
_OF_SETTINGS = frozenset(
    {
        "ConfigurationError",
        "StoreDeniedError",
        "StoreNotFoundError",
    }
)
"""Errors of what somebody has set: the run fails again until that is corrected."""


def end_of(
    exception: BaseException | None,
    state: RunState | None,
    stopped: Stopped | None = None,
) -> End:
    """Return how a run ended.

    Args:
        exception: What ended the work, if something did.
        state: What it says of itself; None: what the exception says.
        stopped: Who ended the run from outside, if a host or a person did.
    """
    if stopped is not None and stopped.reason not in TIME_LIMITS:
        state = (
            state if state == "succeeded" else "aborted"
        )  # it did not fail by itself
    shown = as_interrupted(exception)
    end = _end_of(shown, state, stopped=is_stopped(shown, stopped))
    return msgspec.structs.replace(end, stopped=stopped)


def is_stopped(exception: BaseException | None, stopped: Stopped | None) -> bool:
    """Return whether the run did not end by itself, so that its process may be killed soon.

    What signals raise is no `Exception`, in Python, Airflow and Prefect alike.
    """
    by_itself = exception is None or isinstance(exception, Exception | SystemExit)
    return stopped is not None or not by_itself


def exit_call(exception: SystemExit, *, stopped: bool = False) -> dict[str, object]:
    """Return the fields of `DriverExit` of the exception that `sys.exit` raised.

    Args:
        exception: The exception.
        stopped: As `is_stopped` says.
    """
    from dask_blackbox.capture.driver.client_calls import identity_of
    from dask_blackbox.driver.own_code import described
    from dask_blackbox.error_flow import errors_behind

    fields = described(exception, stopped=stopped)
    return {
        "pid": os.getpid(),
        "code": _code_of(exception),
        "handling": identity_of(exception.__context__),
        **{
            name: fields[name]
            for name in ("file", "line", "function")
            if name in fields
        },
        **errors_behind(exception.__traceback__, _code_of(exception), stopped=stopped),
    }


def _code_of(exception: SystemExit) -> int:
    code = exception.code
    return code if isinstance(code, int) else int(code is not None)


def as_interrupted(exception: BaseException | None) -> BaseException | None:
    """Return the interrupt that asyncio made a cancellation of; any other exception as it is.

    `asyncio.run` answers the first SIGINT by cancelling its main task, and raises
    KeyboardInterrupt when that has ended, which is after the recording.
    """
    if not isinstance(exception, asyncio.CancelledError):
        return exception
    handler = signal.getsignal(signal.SIGINT)
    runner = getattr(getattr(handler, "func", None), "__self__", None)
    if not getattr(runner, "_interrupt_count", 0):
        return exception
    return KeyboardInterrupt().with_traceback(exception.__traceback__)


def _end_of(
    exception: BaseException | None, state: RunState | None, *, stopped: bool
) -> End:
    from dask_blackbox.driver.own_code import described

    if isinstance(exception, SystemExit):
        code, number = exception.code, _code_of(exception)
        if code is None or isinstance(code, int):
            return End(
                state=state or ("failed" if number else "succeeded"), exit_code=number
            )
        # `sys.exit("no input")`: what it says is why.
        described_exception = msgspec.convert(
            described(exception, stopped=stopped), DriverException
        )
        return End(
            state=state or "failed", exit_code=number, exception=described_exception
        )
    if exception is None:
        return End(state=state or "succeeded")
    described_exception = msgspec.convert(
        described(exception, stopped=stopped), DriverException
    )
    otherwise: RunState = (
        "aborted" if isinstance(exception, KeyboardInterrupt) else "failed"
    )
    return End(state=state or otherwise, exception=described_exception)


def error_of_kind(kind: str | None, text: str) -> BlackboxError:
    """Return an error of the recorder process as an exception, with its message.

    Args:
        kind: Name of its class; None: not known.
    """
    # Not `from dask_blackbox import errors`, which would be a circle for mypy.
    errors = import_module(StoreError.__module__)
    cls: type[BlackboxError] = getattr(errors, kind or "", StoreError)
    error = cls.__new__(cls)
    error.args = (text,)
    return error


logger = logging.getLogger("dask_blackbox")


def log_run_end(card: RunCard) -> None:
    """Log one line: the run, its headline, and how to see more.

    Where a program has set up no logging, the line goes to standard error; a level above
    INFO on the logger `dask_blackbox` switches it off in any case.
    """
    with guard("the line at the end"):
        name = f"{card.job}/{card.run_id}/{card.attempt}"
        line = f"dask-blackbox: {name} {card.state}: {card.headline}"
        url = card.links.get("recording")
        if url and card.completeness.get("recorded"):
            line += f"  [{command('why', url)}]"
        if logger.hasHandlers():
            logger.info("%s", line)
        elif logger.level <= logging.INFO and _is_open(sys.stderr):
            print(line, file=sys.stderr, flush=True)  # noqa: T201


def _is_open(stream: object) -> bool:
    return stream is not None and not getattr(stream, "closed", False)


def warn_of(store: Mapping[str, Any]) -> None:
    """Warn about misspelt settings, and about a store that is lost with its container.

    Args:
        store: What `store_settings` returned.
    """
    with guard("a look at the settings"):
        name_misspelt_settings()
        place = place_of(store["url"])
        if not isinstance(place, Bucket) and is_lost_with_container(Path(place)):
            logger.warning(
                "recordings go to %s, which is inside this container and is lost with "
                "it; mount"
                " a volume there, or set blackbox.store.url",
                place,
            )


def unrecorded_card(
    manifest: Manifest,
    ending: Ending,
    reason: str,
    *,
    spooled: bool = False,
    refused: str = "",
) -> RunCard:
    """Return a card made only from how the driver ended.

    No rule is asked: this is the user's process, which may not wait for a diagnosis.

    Args:
        reason: Why there is no recording, for people.
        spooled: What was recorded is in the spool.
        refused: The text of the exception that is why.
    """
    ending = _redacted(ending)
    state = msgspec.convert(ending.state, RunState)
    verdict = None if state == "succeeded" else _undiagnosed(ending, reason, refused)
    kept: Kept = "spool" if spooled else "none"
    headline = f"{state.capitalize()}, {NOT_STORED[kept]}: {reason}"
    if verdict is not None and verdict.confidence == "high":  # that is why it failed
        headline = verdict.title
    return RunCard(
        job=manifest.job,
        run_id=manifest.run_id,
        attempt=manifest.attempt,
        state=state,
        headline=short(headline, _LONGEST),
        verdict=verdict,
        completeness={
            "recorded": False,
            "kept": kept,
            "complete": False,
            "reason": reason,
        },
    )


def _undiagnosed(ending: Ending, reason: str, refused: str) -> Finding | None:
    """Return what the driver itself knows of why it failed, if it knows something."""
    raised, code = ending.exception, ending.exit_code
    if raised is not None and refused and raised.message == refused[:_CHECKED]:
        return _not_begun(raised, reason)
    if raised is not None:
        name = raised.exception.rpartition(".")[2]
        title = short(f"{name}: {raised.message[:_READ]}", _LONGEST)
        evidence = f"{raised.exception}: {short(raised.message[:_READ], _READ)}"
    elif code:
        title = evidence = f"The driver exited with code {code}"
    else:
        return None
    return Finding(
        rule="unknown",
        title=title,
        cause=f"The run was not recorded ({reason}), so it was not diagnosed.",
        severity="failure",
        confidence="low",
        remedy="Read the driver's log for the traceback, and fix why the run was not recorded.",
        evidence=(Evidence(text=evidence, source="driver"),),
    )


def _not_begun(raised: DriverException, reason: str) -> Finding:
    """Return that a run did not begin, because its recording is required and impossible."""
    names = {each.rpartition(".")[2] for each in (raised.exception, *raised.bases)}
    outage, text = "StoreUnreachableError" in names, short(reason, _READ)
    what = "Not started, because it cannot be recorded"
    if names & _OF_SETTINGS:
        what = "Configuration error"
    return Finding(
        rule="driver-exception",
        title=short(f"{what}: {reason}", _LONGEST),
        cause=(
            f"The recording is required, and it cannot begin: {text.rstrip('.')}. No Dask "
            "work had begun."
        ),
        severity="failure",
        confidence="high",
        remedy=(
            "Correct this, or leave out `required`, with which a run fails that cannot be "
            "recorded. Nothing of the job has run, and its own code is not the cause."
        ),
        evidence=(Evidence(text=f"{raised.exception}: {text}", source="driver"),),
        retry_advice="transient" if outage else "environment",
        retry_confidence="medium" if outage else "high",
    )


def _redacted(ending: Ending) -> Ending:
    if ending.exception is None:
        return ending
    clean: list[DriverException] = []
    with guard("the exception of a run that was not recorded"):
        # Here: with all kinds of events, which a driver does not need otherwise.
        from dask_blackbox.recorder.redact import exception_in_host

        # This much is shown, with what follows it: a secret must not be cut in two.
        raised = msgspec.structs.replace(
            ending.exception,
            message=ending.exception.message[:_CHECKED],
            traceback="",
        )
        patterns = tuple(setting("redact"))
        clean.append(exception_in_host(raised, patterns, known_secrets()))
    return msgspec.structs.replace(ending, exception=clean[0] if clean else None)
