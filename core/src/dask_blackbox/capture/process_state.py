"""What belongs to a whole process, and is different since its recording began.

A task that changes it changes it for all that run in the process afterwards, which may fail
of that.  Values of environment variables stay in the process: only names are reported.
"""

from __future__ import annotations

import locale
import os
import re
import socket
import sys
import time
import warnings

if sys.platform != "win32":
    import resource

_LIMITS = ("AS", "CORE", "CPU", "DATA", "FSIZE", "NOFILE", "NPROC", "STACK")
_MOST_NAMES = 20
_DASKS = ("DASK_",)


class ProcessState:
    """The state of this process when it was asked for."""

    def __init__(self) -> None:
        self._values = _values()
        self._environment = dict(os.environ)

    def changes(self) -> list[dict[str, str]]:
        """Return the fields of `events.StateChange`s: what is different by now."""
        now = _values()
        found = [
            {"name": name, "before": before, "now": now[name]}
            for name, before in self._values.items()
            if now.get(name, before) != before
        ]
        return found + self._variables()

    def _variables(self) -> list[dict[str, str]]:
        before, now = self._environment, dict(os.environ)
        names = sorted(
            name
            for name in before.keys() | now.keys()
            if before.get(name) != now.get(name) and not name.startswith(_DASKS)
        )
        return [
            {
                "name": f"environment variable {name}",
                "before": "set" if name in before else "not set",
                "now": ("another value" if name in before else "set")
                if name in now
                else "not set",
            }
            for name in names[:_MOST_NAMES]
        ]


def _values() -> dict[str, str]:
    timeout = socket.getdefaulttimeout()
    return {
        "default timeout of sockets": "none" if timeout is None else f"{timeout:g} s",
        "recursion limit": str(sys.getrecursionlimit()),
        "locale": locale.setlocale(locale.LC_ALL),
        "time zone": "/".join(time.tzname),
        "warnings raised as errors": _errors(),
        **_limits(),
    }


def _limits() -> dict[str, str]:
    if sys.platform == "win32":
        return {}
    found = {}
    for name in _LIMITS:
        kind = getattr(resource, f"RLIMIT_{name}", None)
        if kind is None:  # not every system has every limit
            continue
        limit = resource.getrlimit(kind)[0]
        unlimited = limit == resource.RLIM_INFINITY
        found[f"RLIMIT_{name}"] = "unlimited" if unlimited else str(limit)
    return found


def _errors() -> str:
    """Return the categories of warnings that some filter makes errors."""
    names = {str(each[2]) for each in warnings.filters if each[0] == "error"}
    return ", ".join(sorted(re.findall(r"\w+(?='>)", " ".join(names)))) or "none"
