"""A driver at work on a cluster of some kind, until somebody is killed, or all ends well.

python kills.py STORE CLUSTER WORK [ADDRESS]

Workers log numbered lines, and after each of them write its number into a file of their
own under `truth/`: what stands there had been logged, and must be in the recording.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import logging
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dask
from dask_blackbox import recording
from distributed import Client, LocalCluster, Nanny, Scheduler, SpecCluster
from distributed.deploy.subprocess import SubprocessCluster
from scenario_reports import report, report_card, scaled, until

FOLDER = Path(os.environ["SCENARIO_REPORTED"]).parent
LIMIT = "320MiB"
SAY = 0.004
WORKERS = 2


def chatter(folder: str, seconds: float, ending: str | None = None) -> str:
    """Log numbered lines for a while, then end the process in some way."""
    place, number = Path(folder), 0
    (place / "truth").mkdir(exist_ok=True)
    log = logging.getLogger("job.chatter")
    path = place / "truth" / f"{os.getpid()}-{threading.get_ident()}"
    until = time.monotonic() + seconds
    truth = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    while time.monotonic() < until and not (place / "release").exists():
        log.warning("said %s %d", path.name, number)
        os.write(truth, f"{time.time()} {number}\n".encode())
        number += 1
        time.sleep(SAY)
    os.close(truth)
    if ending is not None:
        ENDINGS[ending]()
    return "said all"


def hoard() -> None:
    hoarded = []
    while True:
        hoarded.append(bytearray(8 * 2**20))
        time.sleep(0.02)


ENDINGS: dict[str, Callable[[], Any]] = {
    "SIGKILL": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "SIGSEGV": lambda: ctypes.string_at(0),
    "SIGABRT": os.abort,
    "os._exit(0)": lambda: os._exit(0),
    "os._exit(3)": lambda: os._exit(3),
    "os._exit(255)": lambda: os._exit(255),
    "sys.exit(4)": lambda: sys.exit(4),
    "memory limit": hoard,
}


class Work:
    """What the driver does; each method is one kind."""

    def __init__(self, client: Client, cluster: Any, threads: int) -> None:
        self.client, self.cluster = client, cluster
        self.threads = threads

    def chat(self, seconds: float = 3600, ending: str | None = None) -> None:
        """All threads chat; the first worker ends as is said."""
        futures = []
        for i, worker in enumerate(sorted(self.client.nthreads())):
            for thread in range(self.threads):
                last = i == 0 and thread == 0
                futures.append(
                    self.client.submit(
                        chatter,
                        str(FOLDER),
                        random.uniform(0.5, 2) if ending and last else seconds,
                        ending if last else None,
                        workers=[worker],
                        allow_other_workers=True,
                        pure=False,
                    )
                )
        report(keys=[str(future.key) for future in futures])
        self.client.gather(futures)

    def die(self, ending: str) -> None:
        """A task ends its worker."""
        self.chat(3600, ending)

    def unreadable(self) -> None:
        """Workers are sent what they cannot read: a module that only the driver has."""
        (FOLDER / "here").mkdir()
        (FOLDER / "here" / "only_here.py").write_text("def chatter(x):\n    return x\n")
        sys.path.insert(0, str(FOLDER / "here"))
        function = importlib.import_module("only_here").chatter
        self.client.submit(function, 1, key="chatter-1").result(timeout=scaled(40))

    def raise_(self) -> None:
        """The driver raises, while its tasks are at work."""
        threading.Thread(target=self._chat_on, daemon=True).start()
        time.sleep(random.uniform(1, 3))
        raise LookupError("the driver's own")

    def exit_3(self) -> None:
        """The driver exits, while its tasks are at work."""
        threading.Thread(target=self._chat_on, daemon=True).start()
        time.sleep(random.uniform(1, 3))
        sys.exit(3)

    def _chat_on(self) -> None:
        with contextlib.suppress(BaseException):
            self.chat()

    def idle(self) -> None:
        """The scheduler finds that nothing is to be done, and goes home."""
        self.chat(0.5)
        until(lambda: self.client.status != "running", "the idle timeout")
        self.client.submit(abs, -1).result(timeout=15)

    def finish(self) -> None:
        """All ends well."""
        self.chat(1)

    def retire(self) -> None:
        """One worker is retired."""
        self.chat(1)
        self.client.retire_workers([min(self.client.nthreads())])
        self._left(1)

    def scale_down(self) -> None:
        """The cluster shrinks."""
        self.chat(1)
        self.cluster.scale(1)
        self._left(1)

    def adapt(self) -> None:
        """The cluster shrinks by itself."""
        self.chat(1)
        self.cluster.adapt(minimum=1, maximum=2, interval="200ms", wait_count=2)
        self._left(1)

    def restart(self) -> None:
        """All workers start anew, while they are at work."""
        _ = self.client.submit(chatter, str(FOLDER), 3600, pure=False)
        until(lambda: any((FOLDER / "truth").glob("*")), "a task at work")
        self.client.restart()
        self.client.wait_for_workers(WORKERS)
        self.chat(0.5)

    def lifetime(self) -> None:
        """Workers leave when their time is over."""
        self.chat(1)
        until(lambda: not self.client.nthreads(), "the end of all lifetimes")

    def shutdown(self) -> None:
        """The driver itself shuts the cluster down, within the recording."""
        self.chat(1)
        self.client.shutdown()

    def _left(self, count: int) -> None:
        until(lambda: len(self.client.nthreads()) == count, f"{count} workers")
        self.client.gather(self.client.map(abs, range(20)))


@contextlib.contextmanager
def cluster_of(kind: str, address: str | None) -> Iterator[Any]:
    """Start a cluster, or take the one that is there."""
    each: dict[str, Any] = {"threads_per_worker": 1, "memory_limit": LIMIT}
    lifetime = {"lifetime": "6s"} if "lifetime" in kind else {}
    if address is not None:
        yield address
    elif kind == "threads":
        with LocalCluster(
            processes=False, n_workers=1, threads_per_worker=2, dashboard_address=":0"
        ) as cluster:
            yield cluster
    elif kind == "SpecCluster":
        nanny = {"cls": Nanny, "options": {"nthreads": 1, "memory_limit": LIMIT}}
        scheduler = {"cls": Scheduler, "options": {"dashboard": False}}
        workers = dict.fromkeys(range(WORKERS), nanny)
        with SpecCluster(workers, scheduler) as cluster:
            yield cluster
    elif kind == "SubprocessCluster":
        with SubprocessCluster(
            n_workers=WORKERS,
            threads_per_worker=1,
            worker_kwargs={"memory_limit": LIMIT},
        ) as cluster:
            yield cluster
    else:
        with LocalCluster(
            n_workers=WORKERS, dashboard_address=":0", **each, **lifetime
        ) as cluster:
            yield cluster


def _pid() -> int:
    return os.getpid()


def report_processes(client: Client, rec: Any) -> None:
    """Let the test know whom it can kill."""
    nannies: dict[str, int] = {}
    if any(each["nanny"] for each in client.scheduler_info(-1)["workers"].values()):
        nannies = client.run(_pid, nanny=True)
    report(
        driver=os.getpid(),
        recorder=rec._supervisor._link.process.pid,
        scheduler=client.run_on_scheduler(os.getpid),
        workers=client.run(_pid),
        nannies=nannies,
        links=rec.links,
        recording=rec.id,
    )


def main(store: str, kind: str, work: str, address: str | None = None) -> None:
    # Else LocalCluster gives up workers that restart slowly on a busy machine.
    dask.config.set({"distributed.deploy.lost-worker-timeout": "120s"})
    with (
        cluster_of(kind, address) as cluster,
        Client(cluster, timeout=scaled(60)) as client,
    ):
        client.wait_for_workers(1 if kind == "threads" else WORKERS, timeout=scaled(90))
        rec = recording(client, store=store, job="kills", run_id="one")
        threads = 2 if kind in ("threads", "--nworkers") else 1
        try:
            with rec:
                report_processes(client, rec)
                name, _, how = work.partition(" ")
                doing = getattr(Work(client, cluster, threads), name)
                try:
                    doing(*([how] if how else []))
                finally:
                    report(over=time.time())
        finally:
            report_card(rec)


if __name__ == "__main__":
    main(*sys.argv[1:])
