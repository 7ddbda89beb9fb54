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
