"""A scheduler that calls itself by an address that the driver's machine does not reach.

python forwarded.py STORE [private]    by a connection that only the driver's process knows
"""

from __future__ import annotations

import asyncio
import os
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from dask_blackbox import recording
from distributed import Client, Scheduler, Worker
from distributed.comm.registry import backends
from distributed.comm.tcp import TCPBackend
from scenario_reports import report_card


async def serve(
    reported: dict[str, str], ready: threading.Event, over: asyncio.Event
) -> None:
    with socket.socket() as probe:  # nobody listens there, and it says so at once
        probe.bind(("127.0.0.1", 0))
        elsewhere = f"tcp://127.0.0.1:{probe.getsockname()[1]}"
    async with Scheduler(host="127.0.0.1", port=0, dashboard=False) as scheduler:
        reported["address"], scheduler._address = scheduler.address, elsewhere
        async with Worker(reported["address"], host="127.0.0.1", nthreads=1):
            ready.set()
            await over.wait()


@contextmanager
def served() -> Iterator[str]:
    reported: dict[str, str] = {}
    ready, loop, over = threading.Event(), asyncio.new_event_loop(), asyncio.Event()
    serving = threading.Thread(
        target=loop.run_until_complete, args=(serve(reported, ready, over),)
    )
    serving.start()
    ready.wait(60)
    try:
        yield reported["address"]
    finally:
        loop.call_soon_threadsafe(over.set)
        serving.join(60)


def main(store: str, kind: str = "tcp") -> None:
    if kind != "tcp":
        backends[kind] = TCPBackend()
    with (
        served() as address,
        Client(address.replace("tcp", kind), set_as_default=False) as client,
        recording(client, store=store, job="forwarded") as rec,
    ):
        client.submit(pow, 2, 5).result()
        client.gather(client.map(abs, range(-2_200, 0)))
        client.submit(print, "through the driver").result()
        client.submit(divmod, 1, 0).exception()
        client.submit(os.getcwd).result()
    report_card(rec)


if __name__ == "__main__":
    main(*sys.argv[1:])
