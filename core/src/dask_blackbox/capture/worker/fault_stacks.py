"""Python's stacks at a fault, a signal or `os._exit`, in a file beside each ring of this process.

Signals: SIGTERM, and the one that our part of a nanny sends before it kills a worker that does not
answer.  `faulthandler` writes them without Python's global lock, which a frozen worker may hold.
Nothing else is called when code ends its process by `os._exit`.

`faulthandler` writes to one file.  Where several recordings share a process, each has a link to
the same file, so that the end of one takes nothing from the others.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import threading
from collections.abc import Callable
from typing import IO, NoReturn

FROZEN: int | None = getattr(signal, "SIGURG", None)
"""The signal before such a kill: a process that has no handler for it ignores it."""

_lock = threading.Lock()  # workers of one process may run in several threads
_paths: list[str] = []
_file: IO[str] | None = None
_enabled = False
_registered: list[int] = []  # signals
_exit: Callable[[int], NoReturn] | None = None  # `os._exit`, while it is wrapped


def write_stacks_to(path: str, *, at_signals: bool) -> None:
    """Have stacks written to a new file as well.

    Args:
        path: Of the file.
        at_signals: Write them at SIGTERM, too, and at `FROZEN` if nobody else handles it.

    Raises:
        OSError: The file cannot be made.
        RuntimeError: This process has no handlers of signals.
    """
    global _file  # noqa: PLW0603 - one for each process, as in `faulthandler`
    with _lock:
        if _file is not None:
            os.link(_paths[-1], path)
        else:
            # For its owner only, whatever the mask of this process is.
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            file = open(handle, "w", encoding="utf-8")  # noqa: SIM115
            try:
                _begin(file, at_signals=at_signals)
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


def _begin(file: IO[str], *, at_signals: bool) -> None:
    global _enabled  # noqa: PLW0603 - as above
    # Where the user has it enabled already, theirs stays.
    _enabled = not faulthandler.is_enabled()
    if _enabled:
        faulthandler.enable(file, all_threads=True)
    if not at_signals:
        return
    _wrap_exit(file)
    faulthandler.register(signal.SIGTERM, file, all_threads=True, chain=True)
    _registered.append(signal.SIGTERM)
    if FROZEN is not None and signal.getsignal(FROZEN) == signal.SIG_DFL:
        faulthandler.register(FROZEN, file, all_threads=True)
        _registered.append(FROZEN)


def _wrap_exit(file: IO[str]) -> None:
    """Have the stacks written before this process, but no child of it, ends itself."""
    global _exit
    inner, pid = os._exit, os.getpid()

    def exit_with_stacks(status: int) -> NoReturn:
        try:
            if os.getpid() == pid:
                # Else it would look like the stacks at SIGTERM.
                file.write(f"os._exit({status!r})\n\n")
                file.flush()
                faulthandler.dump_traceback(file, all_threads=True)
        except Exception:  # the file is closed: our part has ended
            pass
        inner(status)

    _exit, os._exit = inner, exit_with_stacks


def _end(file: IO[str]) -> None:
    global _exit
    if _exit is not None:
        os._exit, _exit = _exit, None  # type: ignore[assignment]
    while _registered:
        faulthandler.unregister(_registered.pop())
    if _enabled:
        faulthandler.disable()
    file.close()
