"""Which processes are the recorders of a driver: they are no children of its."""

from __future__ import annotations

import psutil

__all__ = ["recorder_of"]


def recorder_of(owner: int) -> psutil.Process:
    """Return the only recorder that a process has.

    Args:
        owner: Its id, which the recorder has as an argument.
    """
    marks = ["dask_blackbox.recorder", str(owner)]
    found = [
        each
        for each in psutil.process_iter(["cmdline", "status"])
        if (each.info["cmdline"] or [])[-2:] == marks
        and each.info["status"] != psutil.STATUS_ZOMBIE
    ]
    (recorder,) = found
    return recorder
