"""The recorder of `dask blackbox run`: a fork of that process instead of a new interpreter.

`dask` has imported distributed by then, which the recorder needs, too, and which takes a
third of a second.  Nothing of the user's is in that process: the command is another one.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import signal
import sys
import threading
import traceback
from collections.abc import Mapping

from dask_blackbox.recorder.__main__ import main

_M_ARENA_MAX = -8  # from glibc's malloc.h
_ARGUMENTS = slice(45, 47)  # `arg_start` and `arg_end`, in what follows the name


def may_fork() -> bool:
    """Return whether a fork of this process can continue as a recorder.

    Locks that other threads hold would stay locked in it.  (Libraries of C code that have
    threads of their own, as NumPy's has, end them before a fork.)
    """
    return sys.platform == "linux" and threading.active_count() == 1


def become_recorder(
    parent: str, environment: Mapping[str, str], kept: frozenset[int]
) -> None:
    """Continue as the recorder, in a process that has just been forked.

    `subprocess` has connected its pipes.  Returns only if that process cannot be named as
    a recorder is; then it has to execute one.

    Args:
        parent: Process id of the driver.
        environment: Its variables.
        kept: File descriptors that it needs beside its pipes.
    """
    if not _rename(f"python -m dask_blackbox.recorder {parent}"):
        return
    try:
        _let_go(kept)
        os.environ.clear()
        os.environ.update(environment)
        main(parent)
    except BaseException:  # noqa: BLE001 - as an interpreter reports it
        traceback.print_exc()
    finally:
        os._exit(1)


def _let_go(kept: frozenset[int]) -> None:
    """Let go of what belongs to the process that was forked, as `exec` would."""
    # `subprocess` has restored what ends a program; in any Python, they become errors.
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_IGN)
    for descriptor in map(int, os.listdir("/proc/self/fd")):  # noqa: PTH208
        if descriptor > 2 and descriptor not in kept:  # noqa: PLR2004 - standard error
            with contextlib.suppress(OSError):  # that of the folder itself
                os.close(descriptor)
    sys.stdin, sys.stdout, sys.stderr = (
        open(descriptor, mode, closefd=False)  # noqa: SIM115
        for descriptor, mode in ((0, "r"), (1, "w"), (2, "w"))
    )
    with contextlib.suppress(OSError):  # of a working directory that was deleted
        # As with `python -P`: `python -m dask` looks there first.
        if not sys.flags.safe_path and sys.path[0] in ("", os.getcwd()):  # noqa: PTH109
            del sys.path[0]
    with contextlib.suppress(AttributeError):  # not glibc's
        # Each of its threads would get a heap of its own.
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)
    gc.enable()  # `subprocess` has disabled it


def _rename(title: str) -> bool:
    """Write a title over the arguments of this process, for people who list processes.

    As other programs do it: the last byte of the arguments is not zero any more, and who asks
    for them gets the text up to the first zero.
    """
    try:
        with open("/proc/self/stat", "rb") as file:  # noqa: PTH123
            fields = file.read().rpartition(b")")[2].split()
        start, end = map(int, fields[_ARGUMENTS])
        room = end - start - 1
        if len(title) >= room:
            return False
        ctypes.memmove(start, title.encode().ljust(room, b"\0") + b" ", room + 1)
        with open("/proc/self/comm", "w") as file:  # noqa: PTH123
            file.write("python")
    except (OSError, ValueError):
        return False
    return True
