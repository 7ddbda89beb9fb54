"""Many recordings at once on one scheduler, from processes, threads, tasks and forks.

python many.py STORE PROCESSES THREADS
"""

from __future__ import annotations

import json
import logging
import multiprocessing
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import distributed
from dask_blackbox import recording
from distributed import Client, get_client, get_worker, worker_client
from scenario_reports import commands_cluster, report, until

ROUNDS = 3


def shared(i: int) -> int:
    logging.getLogger("job").warning("a line of %d", i)
    print("printed for", i)
    worker = get_worker()
    key = worker.get_current_task()
    worker.log_event("told", {"by": key})
    distributed.print("told by", key)
    distributed.warn(f"warned by {key}")
    return i


def flaky(marks: str, who: str) -> str:
    """Fail in the first of its attempts."""
    mark = Path(marks) / who
    if not mark.exists():
        mark.touch()
        raise ConnectionError(f"first try of {who}")
    return who


def failing(who: str) -> None:
    raise ValueError(f"the failure of {who}")


def outer(i: int) -> int:
    with worker_client() as client:
        return int(client.submit(inner, i).result())


def outer_too(i: int) -> int:
    return int(get_client().submit(inner_too, i).result())


def inner(i: int) -> int:
    return i


def inner_too(i: int) -> int:
    return i


def local(i: int) -> int:
    return i


def recorded_task(store: str) -> dict[str, Any]:
    """Record within a task: this very cluster, and one of its own."""
    with (
        worker_client() as client,
        recording(client, store=store, job="in-task") as mine,
    ):
        client.submit(inner, 77).result()
    with (
        Client(processes=False, n_workers=1, dashboard_address=":0") as own,
        recording(own, store=store, job="own-cluster") as other,
    ):
        own.gather(own.map(local, range(2)))
    return {"mine": _card(mine), "other": _card(other)}


def _card(rec: Any) -> Any:
    return json.loads(rec.card.to_json())


def record(address: str, store: str, who: str, both: Callable[[], Any]) -> Any:
    """Make a recording of tasks that others have too, by name, and of some of one's own."""
    with Client(address, set_as_default=False) as client:
        both()  # all are connected: now all at once
        rec = recording(client, store=store, job=who)
        with rec:
            for n in range(ROUNDS):
                keys = [f"shared-{who}-{n}-{i}" for i in range(5)]
                client.gather([client.submit(shared, n, key=key) for key in keys])
            marks = os.environ["TMPDIR"]
            client.submit(flaky, marks, who, retries=1, key=f"flaky-{who}").result()
            client.submit(failing, who, key=f"failing-{who}").exception()
            client.gather([*client.map(outer, [n]), *client.map(outer_too, [n])])
    return _card(rec)


def process(address: str, store: str, number: str, threads: str) -> None:
    """Make some recordings at once; print their cards."""
    cards = {}
    together = threading.Barrier(int(threads))

    def one(n: int) -> None:
        who = f"p{number}t{n}"
        cards[who] = record(address, store, who, together.wait)

    working = [threading.Thread(target=one, args=(n,)) for n in range(int(threads))]
    for thread in working:
        thread.start()
    for thread in working:
        thread.join()
    print(json.dumps(cards))


def state_of_scheduler(dask_scheduler: Any) -> dict[str, Any]:
    return {
        "plugins": sorted(dask_scheduler.plugins),
        "handlers": sorted(dask_scheduler.handlers),
        "worker_plugins": sorted(dask_scheduler.worker_plugins),
        "nanny_plugins": sorted(dask_scheduler.nanny_plugins),
        "topics": sorted(t for t in dask_scheduler._broker._topics if "blackbox" in t),
    }


def state_of_worker(dask_worker: Any) -> dict[str, Any]:
    layers, stream = 0, cast("Any", sys.stdout)
    while hasattr(stream, "muted"):
        layers, stream = layers + 1, stream.inner
    return {
        "plugins": sorted(dask_worker.plugins),
        "handlers": sorted(h for h in dask_worker.handlers if "blackbox" in h),
        "threads": sum("blackbox" in t.name for t in threading.enumerate()),
        "layers": layers,
    }


def _state(client: Client) -> dict[str, Any]:
    return {
        "scheduler": client.run_on_scheduler(state_of_scheduler),
        "workers": sorted(client.run(state_of_worker).values(), key=str),
    }


def forks(client: Client, store: str) -> None:
    """Fork while recording; the children compute, with clients of their own."""
    with recording(client, store=store, job="forking") as rec:
        client.submit(shared, 1, key="shared-before").result()
        address = cast("Any", client.scheduler).address
        context = multiprocessing.get_context("fork")
        child = context.Process(target=_forked, args=(address,))
        child.start()
        child.join(60)
        client.submit(shared, 2, key="shared-after").result()
    report(forking=_card(rec), child=child.exitcode)


def _forked(address: str) -> None:
    script = (
        "from distributed import Client\n"
        f"with Client({address!r}) as client:\n"
        "    client.submit(abs, -1, key='abs-of-the-child').result()\n"
    )
    logging.getLogger("job").warning("a line of the child's")
    done = subprocess.run([sys.executable, "-c", script], check=False)
    os._exit(done.returncode)


def main(store: str, processes: str, threads: str) -> None:
    with (
        commands_cluster("--nanny", "--nthreads", "4", workers=2) as address,
        Client(address) as client,
    ):
        client.wait_for_workers(2)
        before = _state(client)
        command = [sys.executable, __file__, "--process", address, store]
        working = [
            subprocess.Popen([*command, str(n), threads], stdout=subprocess.PIPE)
            for n in range(int(processes))
        ]
        cards: dict[str, Any] = {}
        for each in working:
            output, _ = each.communicate()
            cards |= json.loads(output.splitlines()[-1])
        report(cards=cards)
        with recording(client, store=store, job="around") as rec:
            report(in_task=client.submit(recorded_task, store).result())
        report(around=_card(rec))
        forks(client, store)
        until(lambda: _state(client) == before, "rest", 20)
        report(before=before, after=_state(client))


if __name__ == "__main__":
    if sys.argv[1] == "--process":
        process(*sys.argv[2:])
    else:
        main(*sys.argv[1:])
