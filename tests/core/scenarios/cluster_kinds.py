"""The same small work on clusters of every kind.

python cluster_kinds.py STORE threads|processes|nanny|bare|tls|adaptive|asynchronous [PYTHON]
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
from collections.abc import Iterator
from typing import Any, cast

import dask
from dask_blackbox import recording
from dask_blackbox.errors import ConfigurationError
from distributed import Client, KilledWorker, LocalCluster
from distributed.security import Security
from scenario_reports import commands_cluster, report, report_card, scaled, until

TASKS = 50
LINES = 500


def work(i: int) -> int:
    print("printed by", i)
    return i


def fail() -> None:
    raise LookupError("on purpose")


def log_and_die() -> None:
    log = logging.getLogger("job.numbers")
    for i in range(LINES):
        log.warning("numbered %d", i)
    os.kill(os.getpid(), signal.SIGKILL)


@contextlib.contextmanager
def cluster(kind: str, python: str) -> Iterator[Client]:
    local: dict[str, Any] = {"threads_per_worker": 1, "dashboard_address": ":0"}
    if kind == "threads":
        with LocalCluster(processes=False, n_workers=2, **local) as it, Client(it) as c:
            yield c
    elif kind == "processes":
        with LocalCluster(n_workers=2, **local) as it, Client(it) as c:
            yield c
    elif kind == "tls":
        security = Security.temporary()
        with (
            LocalCluster(
                n_workers=1, security=security, protocol="tls://", **local
            ) as it,
            Client(it, security=security) as c,
        ):
            yield c
    elif kind == "adaptive":
        with LocalCluster(n_workers=0, **local) as it, Client(it) as c:
            it.adapt(minimum=0, maximum=2, interval="100ms", wait_count=1)
            yield c
    else:
        options = ["--no-nanny"] if kind == "bare" else ["--nanny"]
        with (
            commands_cluster(*options, python=python) as address,
            Client(address) as c,
        ):
            c.wait_for_workers(1)
            yield c


def main(store: str, kind: str, python: str = sys.executable) -> None:
    dask.config.set(
        {
            "distributed.scheduler.allowed-failures": 0,
            # Else LocalCluster gives up workers that restart slowly on a busy machine.
            "distributed.deploy.lost-worker-timeout": "120s",
        }
    )
    with cluster(kind, python) as client:
        rec = recording(client, store=store, job=kind)
        with rec:
            assert sum(client.gather(client.map(work, range(TASKS)))) == 1225
            error = client.submit(fail, pure=False).exception(timeout=scaled(60))
            report(error=repr(error))
            if kind == "adaptive":
                # Its processes have ended: tests/core/test_last_rows.py has those that end.
                until(lambda: not cast(Any, client.cluster).workers, "scale-down")
            elif kind not in ("threads", "tls"):
                try:
                    client.submit(log_and_die, pure=False).result(timeout=scaled(60))
                except KilledWorker as killed:
                    report(killed=str(killed.task))
        report_card(rec)


async def asynchronous(store: str) -> None:
    async with (
        LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address=":0", asynchronous=True
        ) as it,
        Client(it, asynchronous=True) as client,
    ):
        try:
            recording(client, store=store, job="wrong").start()
        except ConfigurationError as error:
            report(wrong=str(error))
        turns = 0

        async def turning() -> None:
            nonlocal turns
            while True:
                await asyncio.sleep(0.01)
                turns += 1

        turner = asyncio.create_task(turning())
        rec = recording(client, store=store, job="asynchronous")
        async with rec:
            assert sum(await client.gather(client.map(work, range(TASKS)))) == 1225
            before = turns
        report(turns_while_finishing=turns - before)
        turner.cancel()
    report_card(rec)


if __name__ == "__main__":
    if sys.argv[2] == "asynchronous":
        asyncio.run(asynchronous(sys.argv[1]))
    else:
        main(*sys.argv[1:])
