"""What a recorder learns of a run's end, and how its own errors come back from it."""

from __future__ import annotations

from importlib import import_module

import msgspec

from dask_blackbox.attach import RunState
from dask_blackbox.errors import BlackboxError, StoreError
from dask_blackbox.manifest import TIME_LIMITS, DriverException, Stopped
from dask_blackbox.protocol.messages import End

__all__ = ["end_of", "said_again"]


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
    end = _end_of(exception, state)
    return msgspec.structs.replace(end, stopped=stopped)


def _end_of(exception: BaseException | None, state: RunState | None) -> End:
    from dask_blackbox.driver.found_modules import described

    if isinstance(exception, SystemExit):
        code = exception.code
        number = code if isinstance(code, int) else int(code is not None)
        if code is None or isinstance(code, int):
            return End(
                state=state or ("failed" if number else "succeeded"), exit_code=number
            )
        # `sys.exit("no input")`: what it says is why.
        reported = msgspec.convert(described(exception), DriverException)
        return End(state=state or "failed", exit_code=number, exception=reported)
    if exception is None:
        return End(state=state or "succeeded")
    reported = msgspec.convert(described(exception), DriverException)
    otherwise: RunState = (
        "aborted" if isinstance(exception, KeyboardInterrupt) else "failed"
    )
    return End(state=state or otherwise, exception=reported)


def said_again(kind: str | None, text: str) -> BlackboxError:
    """Return an error of the recorder process as one of ours, in its own words.

    Args:
        kind: Name of its class; None: not known.
        text: What it says.
    """
    # Not `from dask_blackbox import errors`, which would be a circle for mypy.
    errors = import_module(StoreError.__module__)
    cls: type[BlackboxError] = getattr(errors, kind or "", StoreError)
    error = cls.__new__(cls)
    error.args = (text,)
    return error
