"""What tasks of several modules of workloads do."""

from __future__ import annotations

import random
import time
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

Block = Any


MIB = 2**20


def added(*numbers: Any) -> Any:
    return sum(numbers)


def python_loop(seed: int, steps: int = 300_000) -> float:
    """Hold the GIL, as plain Python does."""
    chance, price = random.Random(seed), 100.0
    for _ in range(steps):
        price *= 1 + chance.gauss(0, 0.001)
    return price


def packed(number: int, size: int = 2_000_000) -> int:
    """Compute without the GIL."""
    data = np.random.default_rng(number).bytes(size)
    return len(zlib.compress(data, 9))


def block_of(number: int, mebibytes: int = 20) -> Block:
    return np.full(mebibytes * MIB // 8, float(number))


def after(_: Any, number: int, seconds: float = 0.05) -> int:
    time.sleep(seconds)
    return number


def orders(rows: int = 20_000) -> pd.DataFrame:
    return pd.DataFrame({"shop": np.arange(rows) % 9, "paid": np.arange(rows) * 0.5})


def fresh_folder(data: Path, name: str) -> Path:
    folder = data / f"out-{name}"
    folder.mkdir(parents=True)
    return folder


def loaded(day: int) -> int:
    time.sleep(0.2)
    return day * 10
