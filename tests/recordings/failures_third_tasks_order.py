"""A third set held out: two causes, one after the other, and scary things beside them.

Written by somebody who had read no rule and no story of the other sets.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
import threading
import time
from functools import partial
from pathlib import Path
from typing import Any

import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import Client, LocalCluster, as_completed, fire_and_forget, get_worker
from distributed.diagnostics.plugin import WorkerPlugin
from staging import Stage, delayed, until
from staging import failure as any_failure

failure = partial(any_failure, held_out="third: tasks")
afterwards = partial(any_failure, held_out="fourth: tasks")  # reported after mending


class ModelNotLoadedError(Exception):
    """A worker was to have a model, and has none."""


def load_model(path: str, dask_worker: Any) -> None:
    dask_worker.model = path


def predict(number: int) -> int:
    time.sleep(0.25)
    model = getattr(get_worker(), "model", None)
    if model is None:
        raise ModelNotLoadedError(f"no model to predict number {number} with")
    return len(model) + number


def kill(process: int) -> None:
    os.kill(process, signal.SIGKILL)


@failure(
    "task-exception",
    "worker-signalled",
    names=["ModelNotLoadedError", "predict"],
    why="a worker is killed from outside; its replacement lacks what the first was given",
)
def a_model_is_gone_with_its_worker(stage: Stage) -> None:
    with stage.local(2) as client:
        loaded = client.run(load_model, "churn-v3.pkl")
        futures = client.map(predict, range(60))
        until(lambda: sum(each.done() for each in futures) > 5)
        kill(client.run(os.getpid, workers=[next(iter(loaded))]).popitem()[1])
        client.gather(futures)


@afterwards(
    "task-exception",
    "worker-signalled",
    names=["FileExistsError", "exported"],
    why="a worker is killed while it writes, and the second attempt finds its file",
)
def a_second_attempt_finds_what_the_first_left(stage: Stage) -> None:
    def exported(shop: int, folder: str) -> str:
        path = Path(folder) / f"shop-{shop}.csv"
        with path.open("x") as file:
            for row in range(20):
                file.write(f"{shop},{row}\n")
                file.flush()
                time.sleep(0.1)
        return str(path)

    with stage.started(2) as (client, _):
        futures = client.map(exported, range(4), folder=str(stage.folder))
        until(lambda: len(list(stage.folder.glob("shop-*.csv"))) > 1)
        kill(client.run(os.getpid).popitem()[1])
        client.gather(futures)


@failure(
    "worker-segfault",
    names=["SIGSEGV|native", "parsed"],
    noise="its first attempt raises",
    allowed=0,
)
def an_exception_then_a_crash(stage: Stage) -> None:
    def parsed(number: int, folder: str) -> int:
        time.sleep(0.3)
        mark = Path(folder) / "tried"
        if number == 3 and not mark.exists():
            mark.touch()
            raise BlockingIOError(11, "the cache is locked by another process")
        if number == 3:
            os.kill(os.getpid(), signal.SIGSEGV)
        return number

    with stage.local(2) as client:
        client.gather(client.map(parsed, range(8), folder=str(stage.folder), retries=3))


@failure(
    "data-lost",
    "worker-memory-limit",
    names=["lookup|scatter|ndarray|lost"],
    why="a worker dies at its memory limit, and with it data that was scattered",
)
def a_greedy_task_takes_scattered_data_with_it(stage: Stage) -> None:
    def greedy(rounds: int) -> int:
        held = []
        for _ in range(rounds):
            held.append(np.ones(4_000_000))
            time.sleep(0.15)
        return len(held)

    def looked_up(number: int, lookup: Any) -> float:
        return float(lookup[number])

    with stage.local(2, memory_limit="400MiB") as client:
        worker = next(iter(client.scheduler_info()["workers"]))
        lookup = client.scatter(np.arange(1000.0), workers=[worker])
        client.submit(looked_up, 7, lookup).result()
        fire_and_forget(client.submit(greedy, 60, workers=[worker], retries=0))
        until(lambda: worker not in client.scheduler_info(n_workers=-1)["workers"], 40)
        client.gather(client.map(looked_up, range(20), lookup=lookup))


@failure(
    "task-exception",
    names=["KeyError|eur", "in_euro"],
    noise="a worker dies early, and nobody minds",
)
def a_worker_dies_early_and_nobody_minds(stage: Stage) -> None:
    def in_euro(day: int, rates: dict[str, float]) -> float:
        time.sleep(0.3)
        return day * rates["eur" if day < 39 else "EUR"]

    with stage.local(3) as client:
        client.gather(client.map(time.sleep, [0.1] * 6, pure=False))
        kill(client.run(os.getpid).popitem()[1])
        client.gather(client.map(in_euro, range(45), rates={"eur": 1.0}))


@afterwards(
    "driver-exception",
    names=["KeyError", "2024-13|report"],
    noise="a retried task, warnings of memory, a killed worker",
)
def all_is_computed_and_the_report_fails(stage: Stage) -> None:
    def month(number: int, folder: str) -> Any:
        mark = Path(folder) / f"{number}"
        if number == 2 and not mark.exists():
            mark.touch()
            raise ConnectionError("503 Service Unavailable")
        time.sleep(0.5)
        return pd.Series({f"2024-{number:02}": np.ones(8_000_000).sum()})

    def report(totals: Any) -> str:
        return f"December: {totals.loc['2024-12']}, all: {totals.loc['2024-13']}"

    with stage.local(2, memory_limit="250MiB") as client:
        futures = client.map(month, range(1, 13), folder=str(stage.folder), retries=2)
        until(lambda: sum(each.done() for each in futures) > 3)
        kill(client.run(os.getpid).popitem()[1])
        print(report(pd.concat(client.gather(futures))))


class Counting(WorkerPlugin):
    """It says alarming things, and does no harm."""

    def setup(self, worker: Any) -> None:
        log = logging.getLogger("distributed.worker")
        log.critical("Lost connection to the licence server, working without it")
        log.error("MemoryError: could not allocate the cache of 2 GiB, using none")


@failure(
    "task-exception",
    names=["UnicodeDecodeError|codec", "decoded"],
    noise="alarming lines in the logs of workers",
)
def alarming_logs_are_not_the_cause(stage: Stage) -> None:
    def decoded(data: bytes) -> str:
        time.sleep(0.2)
        return data.decode("utf-8")

    with stage.started(2) as (client, _):
        client.register_plugin(Counting())
        words = ["Zürich", "Genève", "Bern", "Łódź", "Zug"]
        data = [word.encode() for word in words] + ["Köln".encode("latin-1")]
        list(as_completed(client.map(decoded, data), raise_errors=True))
        client.gather(client.map(decoded, data))


@failure("driver-exception", names=["TimeoutError|timeout", "result"])
def a_budget_of_four_seconds(stage: Stage) -> None:
    def renders(frame: int) -> int:
        time.sleep(1.0)
        return frame

    with stage.local(2) as client:
        frames = client.map(renders, range(40))
        total = client.submit(sum, frames)
        print(total.result(timeout=4))


@failure("cancelled", names=["cancel"])
def a_watchdog_cancels_what_takes_too_long(stage: Stage) -> None:
    def simulated(step: int) -> int:
        time.sleep(0.6)
        return step

    def watch(client: Client, futures: list[Any]) -> None:
        deadline = time.monotonic() + 4
        while time.monotonic() < deadline:
            time.sleep(0.2)
        client.cancel(futures, force=True)

    with stage.local(2) as client:
        futures = client.map(simulated, range(50))
        thread = threading.Thread(target=watch, args=(client, futures), daemon=True)
        thread.start()
        print(sum(client.gather(futures)))


@afterwards(
    "driver-exception",
    "cancelled",
    names=["clos|cancel"],
    why="futures are asked whose client is closed: they were given up with it",
)
def futures_outlive_the_client_that_made_them(stage: Stage) -> None:
    def read(day: int) -> int:
        time.sleep(0.2)
        return day

    def all_read(address: str) -> list[Any]:
        with Client(address, set_as_default=False) as client:
            futures: list[Any] = client.map(read, range(20), pure=False)
            return futures

    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        stage.recording(),
    ):
        days = all_read(cluster.scheduler_address)
        print(sum(day.result() for day in days))


@failure("task-exception", names=["CancelledError|cancelled", "polled"])
def a_task_cancels_a_coroutine_of_its_own(stage: Stage) -> None:
    async def forever() -> None:
        await asyncio.Event().wait()

    async def both() -> None:
        polling = asyncio.create_task(forever())
        await asyncio.sleep(0.3)
        polling.cancel()
        await polling

    def polled(number: int) -> int:
        if number == 4:
            asyncio.run(both())
        return number

    with stage.local(2) as client:
        client.submit(sum, client.map(polled, range(8))).result(timeout=25)


@failure(
    "environment-mismatch",
    "module-not-shipped",
    names=["tariffs", "rated"],
    why="the module is on a path that only the first workers have",
)
def a_late_worker_knows_no_path(stage: Stage) -> None:
    def rated(number: int) -> int:
        import tariffs  # type: ignore[import-not-found]

        time.sleep(0.4)
        return int(tariffs.rate(number))

    with stage.started(1) as (client, cluster):
        folder = str(stage.module("tariffs", "def rate(n):\n    return n * 3\n").parent)
        client.run(lambda: sys.path.append(folder))
        futures = client.map(rated, range(40))
        until(lambda: sum(each.done() for each in futures) > 2)
        cluster.start_worker("--nthreads", "2")
        client.gather(futures)


@afterwards(
    "environment-mismatch",
    "result-not-serializable",
    names=["vendorlib"],
    why="workers have a package that the driver lacks: it cannot read what they return",
)
def the_driver_lacks_a_package_of_the_workers(stage: Stage) -> None:
    def quoted(number: int) -> Any:
        import vendorlib  # type: ignore[import-not-found]

        return vendorlib.Quote(number)

    text = "class Quote:\n    def __init__(self, n):\n        self.n = n\n"
    folder = stage.package("vendorlib", text, "4.1")
    sys.path.remove(str(folder))
    paths = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    with stage.started(2, environment={"PYTHONPATH": paths}) as (client, _):
        client.gather(client.map(quoted, range(6)))


@failure(
    "module-not-shipped",
    "graph-not-deserializable",
    names=["features_of_customers"],
    why="a collection travels through the scheduler, which misses the module first",
)
def features_live_in_a_module_beside_the_job(stage: Stage) -> None:
    text = "def ratio(part):\n    return part.amount / part.amount.sum()\n"
    with stage.started(2) as (client, _):
        stage.module("features_of_customers", text)
        import features_of_customers  # type: ignore[import-not-found]

        ddf = dd.from_pandas(pd.DataFrame({"amount": range(90)}), npartitions=3)
        meta = ("ratio", "float64")
        ratios = ddf.map_partitions(features_of_customers.ratio, meta=meta)
        client.compute(ratios.max()).result()


@failure("driver-exception", names=["KeyError", "rates-2026|2026-11"])
def a_dataset_that_nobody_published_today(stage: Stage) -> None:
    with stage.local(2) as client:
        yesterday = client.scatter({"eur": 1.0})
        client.publish_dataset(yesterday, name="rates-2026-11-20")
        client.gather(client.map(abs, range(4)))
        client.get_dataset("rates-2026-11-21").result()


@afterwards(
    "driver-exception",
    names=["KeyError", "shop-7"],
    noise="a callback raises, and is only logged",
)
def a_callback_fails_and_its_result_is_missing(stage: Stage) -> None:
    found: dict[str, int] = {}

    def counted(shop: int) -> tuple[str, int]:
        return f"shop-{shop}", 100 // (shop + 1) if shop != 7 else -1

    def put(future: Any) -> None:
        shop, number = future.result()
        if number < 0:
            raise ValueError(f"{shop}: a negative number of customers")
        found[shop] = number

    with stage.local(2) as client:
        futures = client.map(counted, range(10))
        for each in futures:
            each.add_done_callback(put)
        client.gather(futures)
        until(lambda: len(found) == 9)
        print(sum(found[f"shop-{n}"] for n in range(10)))


class Ledger:
    """An actor."""

    def __init__(self) -> None:
        self.sums: dict[str, int] = {}

    def book(self, account: str, amount: int) -> int:
        self.sums[account] = self.sums.get(account, 0) + amount
        if self.sums[account] < 0:
            raise ArithmeticError(f"account {account} is overdrawn")
        return self.sums[account]


@failure(
    "task-exception",
    "driver-exception",
    names=["ArithmeticError", "book|overdrawn"],
    why="methods of actors are no tasks of the graph, but run on a worker",
)
def a_ledger_of_an_actor_is_overdrawn(stage: Stage) -> None:
    with stage.local(2) as client:
        ledger: Any = client.submit(Ledger, actor=True).result()
        for amount in (10, 20, -25, -30, 40):
            ledger.book("rent", amount).result()


@failure("task-exception", names=["OSError|IOError", "checksum", "stored"])
def a_delayed_chain_fails_at_its_very_end(stage: Stage) -> None:
    def sliced(number: int) -> Any:
        time.sleep(0.9)
        return np.full(10_000, number)

    def stored(parts: list[Any]) -> int:
        total = int(sum(part.sum() for part in parts))
        if total % 7:
            raise OSError(f"checksum {total % 7} of the upload is not 0")
        return total

    with stage.started(3, "--no-nanny") as (client, _):
        parts = [delayed(sliced)(n) for n in range(51)]
        client.compute(delayed(stored)(parts), sync=True)
