"""Python's stacks at a fault or at SIGTERM, in a file beside each ring of this process.

`faulthandler` writes to one file.  Where several recordings share a process, each has a link to
the same file, so that the end of one takes nothing from the others.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import threading
from typing import IO

_lock = threading.Lock()  # workers of one process may run in several threads
_paths: list[str] = []
_file: IO[str] | None = None
_enabled = _registered = False


def write_stacks_to(path: str, *, at_sigterm: bool) -> None:
    """Have stacks written to a new file as well.

    Args:
        path: Of the file.
        at_sigterm: Write them at SIGTERM, too.

    Raises:
        OSError: The file cannot be made.
        RuntimeError: This process has no handlers of signals.
    """
    global _file  # noqa: PLW0603 - one for each process, as in `faulthandler`
    with _lock:
        if _file is not None:
            os.link(_paths[-1], path)
        else:
            file = open(path, "w", encoding="utf-8")  # noqa: SIM115
            try:
                _begin(file, at_sigterm=at_sigterm)
            except BaseException:
                _end(file)
                raise
            _file = file
        _paths.append(path)


def stop_writing_stacks_to(path: str) -> None:
    """Write no stacks to a file any more; it stays."""
    global _file  # noqa: PLW0603 - as above
    with _lock:
        if path in _paths:
            _paths.remove(path)
        if _paths or _file is None:
            return
        _end(_file)
        _file = None


def _begin(file: IO[str], *, at_sigterm: bool) -> None:
    global _enabled, _registered
    # Where the user has it enabled already, theirs stays.
    _enabled, _registered = not faulthandler.is_enabled(), at_sigterm
    if _enabled:
        faulthandler.enable(file, all_threads=True)
    if _registered:
        faulthandler.register(signal.SIGTERM, file, all_threads=True, chain=True)


def _end(file: IO[str]) -> None:
    if _registered:
        faulthandler.unregister(signal.SIGTERM)
    if _enabled:
        faulthandler.disable()
    file.close()
