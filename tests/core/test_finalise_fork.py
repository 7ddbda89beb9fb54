"""A recorder forks only where the fork can compute."""

from __future__ import annotations

import subprocess
import sys

_ASKS = """
import asyncio
import polars as pl
from dask_blackbox.recorder.finalise_fork import OwnThreads

async def ask():
    threads = OwnThreads()
    await asyncio.to_thread(int)
    return await threads.ended()

frame = pl.DataFrame({"a": [1, 1, 2]}).lazy().group_by("a").len()
print(asyncio.run(ask()))
frame.collect()
print(asyncio.run(ask()))
"""


def test_a_process_in_which_polars_has_computed_is_not_forked() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _ASKS], capture_output=True, text=True, check=True
    )

    assert done.stdout.split() == ["True", "False"]


_WAITS = """
import asyncio, threading
from dask_blackbox.protocol.messages import Limits
from dask_blackbox.recorder import finalise_fork

finalise_fork._STUCK = 0.5

def wait_for_ever(send):
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()

print(asyncio.run(finalise_fork.work_in_fork(wait_for_ever, Limits(), print)))
"""


def test_a_fork_that_waits_for_ever_is_ended() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _WAITS], capture_output=True, text=True, check=True
    )

    assert done.stdout.strip() == "Ended(done=False, limit=None)"
