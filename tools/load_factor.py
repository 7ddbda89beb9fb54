"""How much slower this machine is, now, than an idle one: deadlines of tests are scaled by it.

.venvs/core/bin/python tools/load_factor.py
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

VARIABLE = "TEST_LOAD_FACTOR"
"""By which the tests are given the factor."""

REFERENCE = 0.6
"""Seconds that the work takes on two idle cores."""

BESIDE = 3.0
"""How many times longer a test takes because others run at the same time."""

LARGEST = 12.0
"""A test that hangs must fail in bounded time on any machine."""

_WORK = "import asyncio, email.message, json, sqlite3; sum(n * n for n in range(10**6))"
_PROCESSES, _AT_ONCE = 6, 2


def load_factor() -> float:
    """Return by what deadlines are multiplied, measured by a fixed piece of work.

    Half of it is computing, half is starting processes, as in the tests.
    A factor that was given is kept, so that runs can be compared.
    """
    if given := os.environ.get(VARIABLE):
        return float(given)
    began = time.monotonic()
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        list(pool.map(_work, range(_PROCESSES)))
    slower = (time.monotonic() - began) / REFERENCE
    return min(BESIDE * max(1.0, slower), LARGEST)


def _work(_number: int) -> None:
    subprocess.run([sys.executable, "-c", _WORK], check=True, stdin=subprocess.DEVNULL)


if __name__ == "__main__":
    print(f"{load_factor():.1f}")
