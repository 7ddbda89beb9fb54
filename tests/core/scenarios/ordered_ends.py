"""A cluster object whose workers are ended by signals, as job queues and SSH end them."""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path

from dask.distributed import Client, Scheduler
from distributed.deploy.spec import ProcessInterface, SpecCluster

DEADLINE = 60.0


class SignalledWorker(ProcessInterface):
    """A `dask worker` that is ended by SIGTERM, and waited for."""

    def __init__(self, scheduler: str, name: str) -> None:
        super().__init__(scheduler=scheduler, name=name)  # type: ignore[no-untyped-call]
        self._command = [
            sys.executable, "-m", "dask", "worker", scheduler, "--name", name,
            "--nthreads", "1", "--no-dashboard", "--host", "127.0.0.1",
        ]  # fmt: skip

    async def start(self) -> None:
        self._process = await asyncio.create_subprocess_exec(*self._command)
        await super().start()  # type: ignore[no-untyped-call]

    async def close(self) -> None:
        self._process.terminate()
        await self._process.wait()
        await super().close()  # type: ignore[no-untyped-call]


class SignallingCluster(SpecCluster):
    """As `SLURMCluster`: its scheduler lives here, its workers elsewhere."""

    def __init__(self) -> None:
        options = {"host": "127.0.0.1", "dashboard_address": ":0"}
        super().__init__(  # type: ignore[no-untyped-call]
            scheduler={"cls": Scheduler, "options": options},
            worker={"cls": SignalledWorker},
            name="signalling",
        )

    def _new_worker_name(self, worker_number: int) -> str:
        return f"unit-{worker_number}"


def double(number: int) -> int:
    return 2 * number


def left(client: Client, number: int) -> None:
    """Wait until so many workers are there."""
    deadline = time.monotonic() + DEADLINE
    while len(client.scheduler_info(n_workers=-1)["workers"]) != number:
        if time.monotonic() > deadline:
            raise TimeoutError(f"there are not {number} workers")
        time.sleep(0.05)


def with_results(how: str) -> None:
    """Scale down and close while workers hold results, which no client releases."""
    cluster = SignallingCluster()
    client = Client(cluster)
    cluster.scale(2)  # type: ignore[no-untyped-call]
    client.wait_for_workers(2, timeout=DEADLINE)
    kept = client.map(double, range(20))
    client.gather(kept)
    cluster.scale(1)  # type: ignore[no-untyped-call]
    left(client, 1)
    client.gather(kept)
    if how == "fails":
        try:
            raise ValueError("no rows")
        finally:
            cluster.close()
    cluster.close()


def reached(file: Path) -> str:
    """Wait until another process has written a file; return its text."""
    deadline = time.monotonic() + DEADLINE
    while not (file.exists() and file.read_text()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"{file.name} was not written")
        time.sleep(0.05)
    return file.read_text()


def owns(folder: Path) -> None:
    """Make a cluster for another process, and scale it down when that asks for it."""
    cluster = SignallingCluster()
    cluster.scale(2)  # type: ignore[no-untyped-call]
    (folder / "address").write_text(cluster.scheduler_address)
    reached(folder / "worked")
    cluster.scale(1)  # type: ignore[no-untyped-call]
    reached(folder / "done")
    cluster.close()


def visits(folder: Path) -> None:
    """Work on the cluster of another process while that scales it down."""
    with Client(reached(folder / "address")) as client:
        client.wait_for_workers(2, timeout=DEADLINE)
        kept = client.map(double, range(20))
        client.gather(kept)
        (folder / "worked").write_text("yes")
        left(client, 1)
        client.gather(kept)
    (folder / "done").write_text("yes")


if __name__ == "__main__":
    how, *places = sys.argv[1:]
    if places:
        {"owns": owns, "visits": visits}[how](Path(places[0]))
    else:
        with_results(how)
