"""A scheduler that calls itself by an address that the driver's machine does not reach.

python forwarded.py STORE [KIND [HOW]]    KIND other than tcp: only the driver's process knows it

HOW: `given` a client that is connected; `opened` inside of the recording, and closed there;
by the `command` that runs this, if any.
"""

from __future__ import annotations

import asyncio
import os
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dask_blackbox import recording
from distributed import Client, Scheduler, Worker
from distributed.comm.registry import backends
from distributed.comm.tcp import TCPBackend
from scenario_reports import report, report_card


async def serve(
    reported: dict[str, Any], ready: threading.Event, over: asyncio.Event
) -> None:
    with socket.socket() as probe:  # nobody listens there, and it says so at once
        probe.bind(("127.0.0.1", 0))
        elsewhere = f"tcp://127.0.0.1:{probe.getsockname()[1]}"
    async with Scheduler(host="127.0.0.1", port=0, dashboard=False) as scheduler:
        reported["scheduler"], reported["address"] = scheduler, scheduler.address
        scheduler._address = elsewhere
        async with Worker(reported["address"], host="127.0.0.1", nthreads=1):
            ready.set()
            await over.wait()


@contextmanager
def served() -> Iterator[tuple[str, Scheduler]]:
    reported: dict[str, Any] = {}
    ready, loop, over = threading.Event(), asyncio.new_event_loop(), asyncio.Event()
    serving = threading.Thread(
        target=loop.run_until_complete, args=(serve(reported, ready, over),)
    )
    serving.start()
    ready.wait(60)
    try:
        yield reported["address"], reported["scheduler"]
    finally:
        loop.call_soon_threadsafe(over.set)
        serving.join(60)


def work(client: Client) -> None:
    client.submit(pow, 2, 5).result()
    client.gather(client.map(abs, range(-2_200, 0)))
    client.submit(print, "through the driver").result()
    client.submit(divmod, 1, 0).exception()
    client.submit(os.getcwd).result()


def remains(scheduler: Scheduler) -> list[str]:
    """Return what of ours there is in the scheduler."""
    names = [*scheduler.handlers, *scheduler.plugins]
    return [each for each in names if each.startswith("dask-blackbox")]


def main(store: str, kind: str = "tcp", how: str = "given") -> None:
    if kind != "tcp":
        backends[kind] = TCPBackend()
    with served() as (on_tcp, scheduler):
        address = on_tcp.replace("tcp", kind)
        if how == "given":
            with (
                Client(address, set_as_default=False) as client,
                recording(client, store=store, job="forwarded") as rec,
            ):
                work(client)
            report_card(rec)
        elif how == "opened":
            with (
                recording(store=store, job="forwarded") as rec,
                Client(address, set_as_default=False) as client,
            ):
                work(client)
            report_card(rec)
        else:
            with Client(address, set_as_default=False) as client:
                work(client)
        report(remains=remains(scheduler))


if __name__ == "__main__":
    main(*sys.argv[1:])
