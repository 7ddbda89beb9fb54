"""Ends what the demo's hosts left running, by the mark that their processes inherited.

A host that is stopped in the middle of a run leaves Dask's processes, and a recorder that
has noticed it and writes its last words.  The recorder is given the time to do so.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import psutil

__all__ = ["MARK", "end_leftovers"]

MARK = "DASK_BLACKBOX_DEMO_FOLDER"
"""An environment variable of every process below the demo; its value is the folder."""

_RECORDERS = 20.0
_OTHERS = 3.0
"""Seconds to end by themselves."""


def end_leftovers(folder: Path) -> None:
    """End all processes that bear the mark of `folder`, recorders last."""
    recorders, others = _marked(folder)
    _end(others, timeout=0.0)
    recorders, others = _marked(folder)
    _end(others, timeout=0.0)
    _end(recorders, timeout=_RECORDERS)


def _marked(folder: Path) -> tuple[list[psutil.Process], list[psutil.Process]]:
    recorders: list[psutil.Process] = []
    others: list[psutil.Process] = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            marked = process.environ().get(MARK) == str(folder)
            if marked and process.pid != os.getpid():
                recording = "dask_blackbox.recorder" in process.cmdline()
                (recorders if recording else others).append(process)
    return recorders, others


def _end(processes: list[psutil.Process], *, timeout: float) -> None:
    _, alive = psutil.wait_procs(processes, timeout=timeout)
    for process in alive:
        with suppress(psutil.Error):
            process.terminate()
    _, alive = psutil.wait_procs(alive, timeout=_OTHERS)
    for process in alive:
        with suppress(psutil.Error):
            process.kill()
    psutil.wait_procs(alive, timeout=_OTHERS)
