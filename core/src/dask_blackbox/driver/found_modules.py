"""Where the driver itself has a module that a worker lacks, or has otherwise.

The name of a module says nothing of the package that it comes from, nor whether it is a
file beside the script; only the driver can look, and only when it ends of it.
"""

from __future__ import annotations

import re
import sys
import traceback
from importlib.machinery import ModuleSpec, PathFinder
from typing import Any

from dask_blackbox.capture.driver.driver import describe_exception
from dask_blackbox.guard import guard

_SAID = re.compile(
    r"(?:No module named|cannot import name '[^']+' from|Can't get attribute '[^']+' on "
    r"<module|\bmodule) '(?P<name>[\w.]+)'"
)
_LONGEST_CHAIN = 20
_LONGEST_REFUSAL = 500
_INSTALLED = ("site-packages", "dist-packages")


def described(error: BaseException) -> dict[str, Any]:
    """Return an exception as the fields of `manifest.DriverException`, `found` included."""
    reported = describe_exception(error)
    with guard("the driver's own module"):
        name = _missing(error)
        if name is not None:
            reported["found"] = found_here(name)
        elif (refusal := _refusal_of_pickle(error)) is not None:
            reported["found"] = {"refusal": refusal}
    return reported


def _refusal_of_pickle(error: BaseException) -> str | None:
    """Return what pickle says of an object that Dask could not name, or None.

    Dask drops that, after it has tried three times.
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
    """Return the module that an exception, or one it was chained to, found wanting."""
    current: BaseException | None = error
    for _ in range(_LONGEST_CHAIN):
        if current is None:
            return None
        # Of a task's exception whose class did not travel, only the text is left.
        if found := _SAID.search(_text_of(current)):
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
    reported = {"module": name, "file": file}
    if any(part in file for part in _INSTALLED):
        reported |= _distribution_of(name.partition(".")[0])
    return reported


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
