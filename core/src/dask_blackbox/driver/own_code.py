"""The user's own code in the driver: its hashes, and where the driver has a missing module.

Modules are hashed in a thread when the recording starts and, if they were loaded later, when
it ends.  Their source text is recorded only if `blackbox.capture.source` is set.

A module's name does not say which package it comes from, nor whether it is a file beside the
script.  The driver looks it up when a module that a worker lacks has ended the run.
"""

from __future__ import annotations

import re
import sys
import threading
import traceback
from collections.abc import Callable
from importlib.machinery import ModuleSpec, PathFinder
from typing import Any

from dask_blackbox.guard import guard
from dask_blackbox.settings import setting

_TIMEOUT = 1.0


class DriverCodeReporter:
    """What the driver's own code is, reported once at the beginning and once at the end.

    Args:
        report: Takes the particulars of a `driver-code` event; never blocks.
        function: Whose code the run is, where it is known.
    """

    def __init__(
        self,
        report: Callable[[dict[str, object]], None],
        function: Callable[..., object] | None = None,
    ) -> None:
        self._report, self._function = report, function
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

        with guard("the driver's own code"):
            facts = code_facts(self._known, source=self._source)
            self._report({**facts, "machine": machine_facts()})

    def finish(self) -> None:
        """Report what was loaded since; takes a second at most."""
        from dask_blackbox.capture.driver.driver_environment import code_facts

        self._thread.join(_TIMEOUT)
        if self._thread.is_alive():
            return
        with guard("the driver's own code"):
            facts = code_facts(self._known, source=self._source)
            if facts["modules"]:
                self._report(dict(facts))


_MISSING_MODULE = re.compile(
    r"(?:No module named|cannot import name '[^']+' from|Can't get attribute '[^']+' on "
    r"<module|\bmodule) '(?P<name>[\w.]+)'"
)
_LONGEST_CHAIN = 20
_LONGEST_REFUSAL = 500
_INSTALLED = ("site-packages", "dist-packages")


def described(error: BaseException) -> dict[str, Any]:
    """Return an exception as the fields of `manifest.DriverException`, `found` included."""
    from dask_blackbox.capture.driver.driver import describe_exception

    fields = describe_exception(error)
    with guard("the driver's own module"):
        name = _missing(error)
        if name is not None:
            fields["found"] = found_here(name)
        elif (refusal := _refusal_of_pickle(error)) is not None:
            fields["found"] = {"refusal": refusal}
    return fields


def _refusal_of_pickle(error: BaseException) -> str | None:
    """Return pickle's error for an object that Dask could not tokenize, or None.

    Dask drops that error after three attempts.
    """
    if type(error).__name__ != "TokenizationError":
        return None
    import cloudpickle  # Dask has loaded it

    for frame, _ in traceback.walk_tb(error.__traceback__):
        if frame.f_code.co_name == "normalize_object" and "o" in frame.f_locals:
            try:
                cloudpickle.dumps(frame.f_locals["o"])  # type: ignore[no-untyped-call]
            except Exception as refusal:  # noqa: BLE001 - of the user's own class
                text = f"{type(refusal).__name__}: {_text_of(refusal)}"
                return text[:_LONGEST_REFUSAL]
    return None


def _missing(error: BaseException) -> str | None:
    """Return the module that an exception, or one in its chain, reports as missing."""
    current: BaseException | None = error
    for _ in range(_LONGEST_CHAIN):
        if current is None:
            return None
        # If the class of a task's exception could not be unpickled, only its text is known.
        if found := _MISSING_MODULE.search(_text_of(current)):
            return found["name"]
        current = current.__cause__ or current.__context__
    return None


def _text_of(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - a `__str__` of the user's own
        return ""


def found_here(name: str) -> dict[str, str]:
    """Return where this process would import a module from, without importing it.

    Args:
        name: Of the module, with its packages.

    Returns:
        `module`, `file`, and, if it is installed, `package` and `version`; nothing if
        this process does not have it either.
    """
    spec = _spec_of(name)
    if spec is None:
        return {}
    places = [spec.origin, *(spec.submodule_search_locations or ())]
    file = next((str(place) for place in places if place), "")
    found = {"module": name, "file": file}
    if any(part in file for part in _INSTALLED):
        found |= _distribution_of(name.partition(".")[0])
    return found


def _spec_of(name: str) -> ModuleSpec | None:
    """Return the spec of a module, found step by step: nothing is imported."""
    path: list[str] | None = None
    spec: ModuleSpec | None = None
    words = name.split(".")
    for number in range(len(words)):
        whole = ".".join(words[: number + 1])
        spec = PathFinder.find_spec(whole, path)
        if spec is None:
            spec = getattr(sys.modules.get(whole), "__spec__", None)
        if spec is None:
            return None
        path = list(spec.submodule_search_locations or ())
    return spec


def _distribution_of(top: str) -> dict[str, str]:
    from importlib.metadata import (
        PackageNotFoundError,
        packages_distributions,
        version,
    )

    for package in (*packages_distributions().get(top, ()), top):
        try:
            return {"package": package, "version": version(package)}
        except PackageNotFoundError:
            continue
    return {"package": top, "version": ""}
