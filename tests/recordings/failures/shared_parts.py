"""Functions and constants that cases of several causes use."""

from __future__ import annotations

import importlib
import importlib.util
import os
import signal
import time
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
from distributed import Client


def grow(mebibytes: int) -> list[bytes]:
    """Take memory as a parser does: bit by bit."""
    held = []
    for _ in range(mebibytes // 4):
        held.append(os.urandom(2**12) * 2**10)
        time.sleep(0.02)
    return held


def allocate(mebibytes: int, seconds: float = 1.0) -> int:
    """Grow step by step, as real tasks do, and touch what was allocated."""
    held = []
    for _ in range(20):
        held.append(os.urandom(1024) * (mebibytes * 1024 // 20))
        time.sleep(seconds / 20)
    return len(held)


LOCAL_MODULE = """
class Config:
    def __init__(self, n):
        self.n = n

def clean(n):
    return n + 1

def enrich(n):
    return n * 2
"""


OLDER_MODULE = """
def clean(n):
    return n + 1
"""


def imported_module(name: str) -> ModuleType:
    importlib.invalidate_caches()
    return importlib.import_module(name)


END = {"blackbox.stall.after": "3s", "blackbox.stall.end-run": "10s"}


def slow(number: int, seconds: float = 1.0) -> int:
    time.sleep(seconds)
    return number


def worker_pids_of(client: Client) -> list[int]:
    return list(client.run(os.getpid).values())


P2P = {"dataframe.shuffle.method": "p2p"}


def frame_of_groups(partitions: int = 12, rows: int = 60_000) -> Any:
    import dask.dataframe as dd
    import numpy as np
    import pandas as pd

    def load(number: int) -> pd.DataFrame:
        chance = np.random.default_rng(number)
        numbers = chance.random((rows, 8))
        frame = pd.DataFrame(numbers, columns=list("abcdefgh"))
        return frame.assign(key=chance.integers(0, 1000, rows))

    meta = {**dict.fromkeys("abcdefgh", "f8"), "key": "i8"}
    return dd.from_map(load, range(partitions), meta=meta)


def has_left(client: Client, worker: str) -> bool:
    """Return whether the scheduler has taken notice that a worker is gone."""
    return worker not in client.scheduler_info()["workers"]


def simulate(year: int, seconds: float = 1.0) -> int:
    """Simulate a year."""
    time.sleep(seconds)
    return year


def events_of(day: int, rows: int = 60_000) -> pd.DataFrame:
    """Return the events of one day."""
    random = np.random.default_rng(day)
    session = random.integers(0, 5_000, rows)
    return pd.DataFrame({"session": session, "value": random.random(rows), "day": day})


def worker_pids(client: Client) -> list[int]:
    """Return the process ids of the workers that are there now."""
    return sorted(client.run(os.getpid).values())


class TileError(Exception):
    """A tile of a map that cannot be drawn."""

    def __init__(self, tile: str, reason: str) -> None:
        super().__init__(f"tile {tile}: {reason}")
        self.tile = tile


def drawn(tile: str) -> str:
    time.sleep(0.1)
    if tile.startswith("sea"):
        raise TileError(tile, "nothing to draw")
    if tile == "land-14":
        raise ZeroDivisionError("float division by zero")
    return tile


Frame = Any


def sales(rows: int = 400, seed: int = 7) -> pd.DataFrame:
    """A small table of sales."""
    chance = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "shop": chance.integers(0, 12, rows),
            "day": np.arange(rows) // 20,
            "amount": chance.integers(1, 90, rows),
        }
    )


def kill(process: int) -> None:
    os.kill(process, signal.SIGKILL)
