"""A limit on the CPU time of what reads text that others wrote.

For processes of our own only: in a host's process, its signals are not ours.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_AGAIN = 0.05
"""Seconds after which the limit is raised again, in case the work caught it."""
_AROUND_THE_BODY = (__file__, contextlib.__file__)


class CpuLimitExceeded(Exception):  # noqa: N818 - it is caught here, and no error of the user's
    """The work took more CPU time than it may."""


def _exceeded(_number: int, frame: FrameType | None) -> None:
    # Raised while the body begins or ends, it would leave the timer running.
    if frame is None or frame.f_code.co_filename not in _AROUND_THE_BODY:
        raise CpuLimitExceeded


@contextmanager
def cpu_limit(seconds: float) -> Iterator[None]:
    """Raise in the body after some CPU time of this process, also within a search of `re`.

    In another thread than the main one, where no signal can interrupt, and within another
    limit, the body has no limit of its own.

    Raises:
        CpuLimitExceeded: if it took longer.
    """
    free = signal.getsignal(signal.SIGVTALRM) in (signal.SIG_DFL, None)
    if threading.current_thread() is not threading.main_thread() or not free:
        yield
        return
    signal.signal(signal.SIGVTALRM, _exceeded)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds, _AGAIN)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, signal.SIG_DFL)
