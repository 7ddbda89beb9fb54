"""Recordings of one cluster in turn and at once, and what its processes hold of them then.

python in_turn.py STORE
"""

from __future__ import annotations

import contextlib
import json
import sys
from contextlib import ExitStack
from typing import Any

import dask
from dask_blackbox import recording
from distributed import Client
from scenario_reports import commands_cluster, report, until

IN_TURN, AT_ONCE, TASKS = 4, 10, 5


def work(i: int) -> int:
    print("a line of", i)
    if i == 0:
        raise LookupError("a failed task")
    return i


def held() -> dict[str, Any]:
    """Return what this process holds of dask-blackbox: as little after all as after one."""
    import gc
    import sys
    import threading
    from collections import Counter
    from pathlib import Path

    def is_ours(name: object) -> bool:
        return str(name).startswith(("_dask_blackbox", "dask_blackbox", "dask-black"))

    def path(file: Path) -> str:
        try:
            return str(file.readlink())
        except OSError:  # closed by now
            return ""

    gc.collect()
    objects = gc.get_objects()
    kinds = Counter(type(e).__name__ for e in objects if is_ours(type(e).__module__))
    # Each thread keeps the standard error of the time when it was made.
    kinds.pop("_Tee", None)
    kinds["Handler"] = max(kinds["Handler"], 1)  # Dask keeps one for all
    maps = Path("/proc/self/maps").read_text().splitlines()
    files = [*map(path, Path("/proc/self/fd").iterdir()), *maps]
    return {
        "objects": dict(sorted(kinds.items())),
        "lines": sum(type(e) is list and "a line of 1" in e for e in objects),
        "modules": sum(map(is_ours, sys.modules)),
        "threads": sorted(t.name for t in threading.enumerate() if is_ours(t.name)),
        "files": sum("dask-blackbox-" in file or "/dbb-" in file for file in files),
    }


def held_by_all(client: Client) -> dict[str, Any]:
    handlers = [topic for topic in client._event_handlers if "blackbox" in topic]
    return {
        "scheduler": client.run_on_scheduler(held),
        "workers": sorted(client.run(held).values(), key=str),
        "nannies": sorted(client.run(held, nanny=True).values(), key=str),
        "driver": {**held(), "handlers": handlers},
    }


def in_turn(client: Client, store: str, times: int) -> list[Any]:
    """Record one after the other; return the cards."""
    cards = []
    for _ in range(times):
        with recording(client, store=store, job="in-turn") as rec:
            client.gather(client.map(work, range(TASKS), pure=False), errors="skip")
        cards.append(json.loads(rec.card.to_json()))
    return cards


def at_once(address: str, store: str) -> list[Any]:
    """Record with many clients at once; return the cards."""
    with ExitStack() as ends:
        clients = [
            ends.enter_context(Client(address, set_as_default=False))
            for _ in range(AT_ONCE)
        ]
        recordings = [
            ends.enter_context(recording(client, store=store, job="at-once"))
            for client in clients
        ]
        for client in clients:
            client.gather(client.map(work, range(TASKS), pure=False), errors="skip")
    return [json.loads(rec.card.to_json()) for rec in recordings]


def main(store: str) -> None:
    # Failed tasks are kept, too, in files without a name.
    dask.config.set({"blackbox.capture.values": True})
    with commands_cluster("--nworkers", "2") as address, Client(address) as client:
        client.wait_for_workers(2)
        cards = in_turn(client, store, 1)
        until(lambda: not client._event_handlers.keys() - {"print", "warn"}, "an end")
        before = held_by_all(client)
        cards += in_turn(client, store, IN_TURN) + at_once(address, store)
        # What is still on its way when a recording ends is forgotten moments later.
        with contextlib.suppress(TimeoutError):
            until(lambda: held_by_all(client) == before, "rest")
        report(before=before, after=held_by_all(client), cards=cards)


if __name__ == "__main__":
    main(sys.argv[1])
