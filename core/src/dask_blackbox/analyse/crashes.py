"""Which of the tasks that a worker ran at once crashed it: the stack of the crash tells.

Python's `faulthandler` marks the thread in which the signal came.  Who else was executing
then is innocent, and may have run at every one of the deaths all the same.
"""

from __future__ import annotations

from dask_blackbox.analyse.deaths import Death
from dask_blackbox.analyse.frames import functions_of_crash
from dask_blackbox.analyse.signals import CRASHES
from dask_blackbox.analyse.words import prefix_of

__all__ = ["suspects_of"]


def suspects_of(death: Death) -> tuple[str, ...]:
    """Return the tasks that may have ended a worker: all that ran, unless it says which.

    Tasks are known by the name of their function, which is the prefix of their key unless
    it was fused or named by hand: then nobody is ruled out.
    """
    if death.signal not in CRASHES or len(death.executing) < 2:  # noqa: PLR2004
        return death.executing
    functions = {name.strip("_") for name in functions_of_crash(death.stack)}
    seen = tuple(
        key for key in death.executing if prefix_of(key).strip("_") in functions
    )
    return seen or death.executing
