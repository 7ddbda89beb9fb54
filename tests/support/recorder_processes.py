"""Which processes are the recorders of a driver: they are no children of its."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["recorder_of"]


def recorder_of(owner: int) -> Any:
    """Return the only recorder that a process has, a `psutil.Process`.

    Args:
        owner: Its id, which the recorder has as an argument.
    """
    psutil: Any = import_module("psutil")  # not every environment has its types
    marks = ["dask_blackbox.recorder", str(owner)]
    found = [
        each
        for each in psutil.process_iter(["cmdline", "status"])
        if (each.info["cmdline"] or [])[-2:] == marks
        and each.info["status"] != psutil.STATUS_ZOMBIE
    ]
    (recorder,) = found
    return recorder
