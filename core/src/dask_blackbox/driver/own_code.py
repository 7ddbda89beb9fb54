"""The user's own code in the driver: its hashes, and where the driver has a missing module.

Modules are hashed in a thread when the recording starts and, if they were loaded later, when
it ends.  Their source text is recorded only if `blackbox.capture.source` is set.

A module's name does not say which package it comes from, nor whether it is a file beside the
script.  The driver looks it up when a module that a worker lacks has ended the run.
"""

from __future__ import annotations

import errno
import sys
import threading
import traceback
from collections.abc import Callable
from typing import Any

from dask_blackbox.capture.exceptions import message_of, own_frame
from dask_blackbox.capture.own_modules import missing_there
from dask_blackbox.guard import guard
from dask_blackbox.settings import setting

_TIMEOUT = (
    5.0  # seconds at the end of a run, of a driver whose first check still goes on
)
_DOING = "the driver's own code"


class DriverCodeReporter:
    """What the driver's own code is, reported once at the beginning and once at the end.

    Args:
        report: Takes the particulars of a `driver-code` event; never blocks.
        function: Whose code the run is, where it is known.
        failed: Takes what was not done and why, for the recording.
    """

    def __init__(
        self,
        report: Callable[[dict[str, object]], None],
        function: Callable[..., object] | None = None,
        failed: Callable[[str, Exception], None] | None = None,
    ) -> None:
        self._report, self._function, self._failed = report, function, failed
        self._known: set[str] = set()
        self._source = bool(setting("capture.source"))
        self._thread = threading.Thread(
            target=self.check, name="dask-blackbox-code", daemon=True
        )

    def start(self) -> None:
        """Start the check in a thread."""
        self._thread.start()

    def check(self) -> None:
        """Report the code that is loaded now, in the calling thread."""
        from dask_blackbox.capture.driver.driver_environment import (
            code_facts,
            machine_facts,
        )

        with guard(_DOING, on_error=self._failed):
            facts = code_facts(self._known, source=self._source)
            self._report({**facts, "machine": machine_facts()})

    def finish(self) -> None:
        """Report what was loaded since; waits five seconds at most for the first check."""
        from dask_blackbox.capture.driver.driver_environment import code_facts

        self._thread.join(_TIMEOUT)
        if self._thread.is_alive():  # the machine is slow, or the run was short
            self._report({"late": True})
            return
        with guard(_DOING, on_error=self._failed):
            facts = code_facts(self._known, source=self._source)
            if facts["modules"]:
                self._report(dict(facts))


_LONGEST_REFUSAL = 500
_MOST_CHAINED = 20


def described(error: BaseException, *, stopped: bool = False) -> dict[str, Any]:
    """Return an exception as the fields of `manifest.DriverException`.

    Args:
        error: The exception.
        stopped: The driver did not end by itself.
    """
    from dask_blackbox.capture.driver.driver import describe_exception
    from dask_blackbox.error_flow import errors_behind, raised_in_cleanup

    fields = describe_exception(error)
    with guard("what the driver's source shows of its end"):
        fields["cleanup"] = raised_in_cleanup(error)
        fields |= errors_behind(error.__traceback__, stopped=stopped)
    with guard("the driver's own module"):
        found = missing_there(error)
        if found is not None:
            fields["found"] = found
        elif (refusal := _refusal_of_pickle(error)) is not None:
            fields["found"] = refusal
        elif (taken := _address_in_use(error)) is not None:
            fields["found"] = {"address": taken}
    return fields


def _address_in_use(error: BaseException) -> str | None:
    """Return the address at which another process listened already, or None.

    Neither the system nor Dask names its port.
    """
    each: BaseException | None = error
    for _ in range(_MOST_CHAINED):
        if each is None:
            break
        if isinstance(each, OSError) and each.errno == errno.EADDRINUSE:
            frames = [frame for frame, _ in traceback.walk_tb(each.__traceback__)]
            for given in (frame.f_locals for frame in reversed(frames)):
                port = given.get("port")
                if isinstance(port, int) and port > 0:
                    return f"{given.get('address') or '*'}:{port}"
        each = each.__cause__ or each.__context__
    return None


def _file_of(file: str, of: type) -> str:
    """Return the file of a line of a class that was unpickled, whose code has no file then."""
    if not file.startswith("<"):
        return file
    module = sys.modules.get(of.__module__)
    return getattr(module, "__file__", None) or file


def _refusal_of_pickle(error: BaseException) -> dict[str, str] | None:
    """Return pickle's error for an object that Dask could not tokenize, or None.

    Dask drops that error after three attempts to write the object and to read it again:
    `refusal` is that of writing, `unread` that of reading, with the line at which it was raised.
    """
    if type(error).__name__ != "TokenizationError":
        return None
    import cloudpickle  # Dask has loaded it

    for frame, _ in traceback.walk_tb(error.__traceback__):
        if frame.f_code.co_name == "normalize_object" and "o" in frame.f_locals:
            step = "refusal"
            try:
                written = cloudpickle.dumps(frame.f_locals["o"])  # type: ignore[no-untyped-call]
                step = "unread"
                cloudpickle.loads(written)
            except Exception as refused:  # noqa: BLE001 - of the user's own class
                text = f"{type(refused).__name__}: {message_of(refused)}"
                own = own_frame(refused) if step == "unread" else None
                at = ""
                if own is not None:
                    file = _file_of(own.filename, type(frame.f_locals["o"]))
                    at = f", at {file}:{own.lineno} in {own.name}"
                return {step: text[:_LONGEST_REFUSAL] + at}
    return None
