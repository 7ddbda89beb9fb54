"""A bug of an old Dask, met on a real cluster: an actor is lost that a task has asked for.

In an environment with `distributed` 2025.1 to 2025.4, where `known-bug` must be found:

    python tests/recordings/old_bug.py [--store FOLDER]
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
import time
from typing import Any

import distributed
from distributed import Client, LocalCluster

__all__ = ["main"]


class Counter:
    """Counts."""

    def __init__(self) -> None:
        self.number = 0

    def up(self) -> int:
        self.number += 1
        return self.number


def used(counter: Any) -> int:
    return int(counter.up().result())


def main() -> int:
    """Meet the bug; return whether it was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", default=tempfile.gettempdir() + "/old-bug")
    store = parser.parse_args().store
    from dask_blackbox.driver import recording

    flight = None
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as local,
        Client(local) as client,
    ):
        try:
            with recording(client, store=store, job="a-lost-actor") as flight:
                _lose_an_actor(client)
        except Exception as error:  # noqa: BLE001 - that is what comes of it
            print(f"the driver got {type(error).__name__}: {error}")
    card = flight.card if flight is not None else None
    found = [] if card is None else [each.rule for each in card.findings]
    print(f"distributed {distributed.__version__}: {found}")
    return 0 if "known-bug" in found else 1


def _lose_an_actor(client: Client) -> None:
    here, there = sorted(client.scheduler_info(n_workers=-1)["workers"])
    pids = client.run(os.getpid)
    actor: Any = client.submit(
        Counter, actor=True, workers=[here], allow_other_workers=True
    ).result()
    actor.up().result()
    # Its worker does not answer any more, so that the task has yet to get hold of it.
    os.kill(pids[here], signal.SIGSTOP)
    wanted = client.submit(used, actor, workers=[there])
    time.sleep(2)
    os.kill(pids[here], signal.SIGKILL)
    wanted.result(timeout=30)


if __name__ == "__main__":
    sys.exit(main())
