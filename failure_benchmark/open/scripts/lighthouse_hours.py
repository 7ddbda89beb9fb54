"""Enters the hours of lighthouses into one register, a writer at a time."""

import tempfile
from pathlib import Path

from dask.distributed import Client, Lock

REGISTER = Path(tempfile.gettempdir()) / "register.txt"


def append(line: str) -> None:
    with Lock("register"):
        with REGISTER.open("a") as register:
            register.write(f"{line}\n")


def enter(house: int) -> int:
    hours = sum(minute % 7 for minute in range(house * 1000)) // 60
    with Lock("register"):
        known = REGISTER.read_text() if REGISTER.exists() else ""
        if f"house {house}:" not in known:
            append(f"house {house}: {hours}")
    return hours


if __name__ == "__main__":
    with Client(n_workers=2, threads_per_worker=1) as client:
        print(sum(client.gather(client.map(enter, range(12)))))
