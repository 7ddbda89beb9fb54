"""Clients of a long-lived cluster whose scheduler records every run on it by itself.

python always_on.py ADDRESS STORE
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from typing import Any

from dask_blackbox import recording
from distributed import Client, get_client, span, worker_client
from scenario_reports import report, report_card


def shared(i: int) -> int:
    print("a line of", i)
    return i


def failing() -> None:
    raise ValueError("the last thing it does")


def outer(i: int) -> int:
    with worker_client() as client:
        return int(client.submit(inner, i).result())


def outer_too(i: int) -> int:
    return int(get_client().submit(inner_too, i).result())


def inner(i: int) -> int:
    return i


def inner_too(i: int) -> int:
    return i


def loaded(i: int) -> int:
    return i


def waiting(pause: float) -> None:
    threading.Event().wait(pause)


def client_of(address: str, name: str | None = None) -> Client:
    return Client(address, name=name, set_as_default=False)


def ten_at_once(address: str) -> None:
    """Ten clients of one process submit tasks of one function, each its own."""

    def one(n: int) -> None:
        with client_of(address, f"thread-{n}") as client:
            keys = [f"shared-{n}-{i}" for i in range(n + 1)]
            futures = [client.submit(shared, 100 * n, key=key) for key in keys]
            client.gather(futures)

    threads = [threading.Thread(target=one, args=(n,)) for n in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def main(address: str, store: str) -> None:
    client_of(address, "idle").close()
    ten_at_once(address)
    with client_of(address, "fails") as client:
        future: Any = client.submit(failing)
        report(failed=type(future.exception()).__name__)
    with client_of(address, "recovers") as client:
        future = client.submit(failing, key="failing-but-handled")
        future.exception()
        client.submit(shared, 7).result()
    with client_of(address, "nested") as client:
        client.gather([*client.map(outer, range(2)), *client.map(outer_too, range(2))])
    with client_of(address) as client, span("nightly"), span("load"):
        client.gather(client.map(loaded, range(3)))
    with (
        client_of(address, "records-itself") as client,
        recording(client, store=store, job="own") as rec,
    ):
        client.submit(shared, 8).result()
    report_card(rec)
    vanishing = subprocess.Popen([sys.executable, __file__, "--vanish", address])
    vanishing.wait()


def vanish(address: str) -> None:
    client = client_of(address, "vanishes")
    client.submit(shared, 9).result()
    future = client.submit(waiting, 600)
    while client.run_on_scheduler(_state, key=future.key) != "processing":
        pass
    os.kill(os.getpid(), signal.SIGKILL)


def _state(dask_scheduler: Any, key: str) -> str | None:
    ts = dask_scheduler.tasks.get(key)
    return None if ts is None else str(ts.state)


if __name__ == "__main__":
    if sys.argv[1] == "--vanish":
        vanish(sys.argv[2])
    else:
        main(*sys.argv[1:])
