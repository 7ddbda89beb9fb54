"""Exceptions of the driver's own code."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import Client, LocalCluster, as_completed, fire_and_forget, wait
from failures.shared_parts import allocate, kill, sales
from staging import Stage, failure, until


@failure("driver-exception", names=["amuont|KeyError"])
def a_column_is_misspelt_while_the_graph_is_built(stage: Stage) -> None:
    import dask.dataframe as dd
    import pandas as pd

    with stage.local(2):
        frame = dd.from_pandas(pd.DataFrame({"amount": range(10)}), npartitions=2)
        frame["amuont"].sum().compute()


@failure("driver-exception", names="3 rows", noise="a task failed and was handled")
def a_check_after_good_work(stage: Stage) -> None:
    with stage.started(2) as (client, _):
        bad = client.submit(divmod, 1, 0)
        wait(bad)
        rows = client.gather(client.map(abs, range(3)))
        if len(rows) < 1000:
            raise ValueError(f"only {len(rows)} rows for today: upstream is late")


@failure(
    "driver-exception",
    names="TimeoutError|did not answer",
    how="command",
    noise="workers died before",
    allowed=3,
)
def the_warehouse_does_not_answer(stage: Stage) -> None:
    with stage.local(2) as client:
        futures = client.map(time.sleep, [0.2] * 20, pure=False)
        pid = next(iter(client.run(os.getpid).values()))
        os.kill(pid, signal.SIGKILL)
        client.gather(futures)
        raise TimeoutError("warehouse.internal:5432 did not answer within 30 s")


@failure("driver-exception", names="Metadata inference|meta|strptime|parse_day")
def metadata_inference_fails(stage: Stage) -> None:
    import dask.dataframe as dd
    import pandas as pd

    def parse_day(frame: pd.DataFrame) -> pd.DataFrame:
        from datetime import datetime

        day = datetime.strptime(frame["day"].iloc[0], "%Y-%m-%d")  # noqa: DTZ007
        return frame.assign(year=day.year)

    with stage.local(1, threads_per_worker=2):
        frame = pd.DataFrame({"day": ["2026-11-20", "2026-11-21"]})
        dd.from_pandas(frame, npartitions=2).map_partitions(parse_day).compute()


@failure("driver-exception", names="no input", how="command")
def a_script_gives_up_with_a_message(stage: Stage) -> None:
    with stage.local(1) as client:
        found: list[str] = client.submit(list).result()
        if not found:
            sys.exit("no input files for 2026-11-21")


@failure(
    "driver-exception",
    names="total is 0",
    allowed=5,
    noise="a worker died at its memory limit, and the work was done again",
)
def a_check_after_a_memory_death_that_was_survived(stage: Stage) -> None:
    mark = stage.folder / "grown"

    def load(path: str, number: int) -> int:
        if number == 3 and not Path(path).exists():
            Path(path).touch()
            allocate(700)
        return 0

    with stage.local(2, memory_limit="400MiB") as client:
        total = sum(client.gather(client.map(load, [str(mark)] * 8, range(8))))
        if total == 0:
            raise RuntimeError("the total is 0: yesterday it was 1.2 million")


@failure("driver-exception", names="fallback", noise="an unpicklable graph was handled")
def a_fallback_fails_too(stage: Stage) -> None:
    lock = threading.Lock()

    def guarded(number: int) -> int:
        with lock:
            return number

    with stage.local(2) as client:
        try:
            client.submit(guarded, 1)
        except TypeError:
            done = client.gather(client.map(abs, range(5)))
            raise LookupError(f"the fallback found {len(done)} of 6 parts") from None


@failure(
    "driver-exception",
    "unknown",
    names=(),
    why="the driver's own timeout passed while "
    "tasks succeeded: nothing but the driver failed",
)
def a_timeout_while_all_goes_well(stage: Stage) -> None:
    with stage.local(2) as client:
        futures = client.map(time.sleep, [0.5] * 80, pure=False)
        client.submit(len, futures).result(timeout=6)


@failure("driver-exception", names="email", noise="forgotten tasks fail")
def tasks_that_nobody_waits_for_fail(stage: Stage) -> None:
    with stage.local(2) as client:
        for number in range(10):
            fire_and_forget(client.submit(divmod, number, 0, pure=False))
        client.gather(client.map(abs, range(50)))
        raise OSError("no email could be sent: connection refused by smtp.internal")


@failure(
    "driver-exception",
    "task-exception",
    names=["PermissionError", "warm_cache"],
    why="a function run on all workers: the user's code there, but no task",
    held_out="second",
)
def a_function_run_on_all_workers_raises(stage: Stage) -> None:
    def warm_cache() -> None:
        raise PermissionError(13, "Permission denied", "/srv/cache")

    with stage.local(2) as client:
        client.run(warm_cache)


@failure("driver-exception", names=["KeyError", "pricee"], held_out="second")
def a_column_is_misspelt(stage: Stage) -> None:
    with stage.local(1):
        frame = dd.from_pandas(pd.DataFrame({"price": [1.0, 2.0]}), npartitions=2)
        frame["pricee"].sum().compute()


@failure(
    "driver-exception",
    names=["AssertionError", "expected 11"],
    how="command",
    held_out="second",
)
def a_check_after_the_work(stage: Stage) -> None:
    with stage.local(2) as client:
        rows = sum(client.gather(client.map(lambda n: n, range(5))))
        assert rows == 11, f"expected 11 rows, got {rows}"


@failure(
    "driver-exception", names=["KeyError", "region"], how="command", held_out="second"
)
def an_asynchronous_driver_fails_by_itself(stage: Stage) -> None:
    async def main() -> None:
        async with Client(
            asynchronous=True, n_workers=1, threads_per_worker=1, dashboard_address=None
        ) as client:
            totals = await client.gather(client.map(lambda n: n + 1, range(4)))
            print({"sum": sum(totals)}["region"])

    asyncio.run(main())


@failure(
    "driver-exception",
    names=["Überlauf|Summe"],
    noise="a worker was ended early, a task's exception was caught",
    held_out="third: services",
)
def the_report_is_refused_after_all_went_well(stage: Stage) -> None:
    class ReportError(Exception):
        pass

    def amount(number: int) -> int:
        time.sleep(0.1)
        if number == 7:
            raise ValueError("Betrag ist negativ")
        return number

    def checked(client: Client, numbers: range) -> list[int]:
        futures = client.map(amount, numbers)
        found = []
        for future in as_completed(futures):
            try:
                found.append(future.result())
            except ValueError as error:
                print("skipped:", error)
        return found

    with stage.local(2) as client:
        pid = next(iter(client.run(os.getpid).values()))
        os.kill(pid, signal.SIGTERM)
        found = checked(client, range(40))
        try:
            assert sum(found) % 1000 == 0, found
        except AssertionError as error:
            lines = "\n".join(f"  Konto {n:04}: {n * 1.19:.2f} €" for n in found)
            message = f"Überlauf: Summe {sum(found)} passt nicht\n{lines}"
            raise ReportError(message) from error


@failure(
    "driver-exception",
    names=["TimeoutError|timeout", "result"],
    held_out="third: tasks",
)
def a_budget_of_four_seconds(stage: Stage) -> None:
    def renders(frame: int) -> int:
        time.sleep(1.0)
        return frame

    with stage.local(2) as client:
        frames = client.map(renders, range(40))
        total = client.submit(sum, frames)
        print(total.result(timeout=4))


@failure(
    "driver-exception",
    names=["KeyError", "rates-2026|2026-11"],
    held_out="third: tasks",
)
def a_dataset_that_nobody_published_today(stage: Stage) -> None:
    with stage.local(2) as client:
        yesterday = client.scatter({"eur": 1.0})
        client.publish_dataset(yesterday, name="rates-2026-11-20")
        client.gather(client.map(abs, range(4)))
        client.get_dataset("rates-2026-11-21").result()


@failure(
    "driver-exception",
    "unknown",
    names=["timed out|timeout|gave up|6 s"],
    why="tasks succeeded all the time; the driver's timeout was too short",
    held_out="fourth: services",
)
def a_deadline_shorter_than_the_work(stage: Stage) -> None:
    def grid_cell(number: int) -> int:
        time.sleep(1)
        return number

    with stage.local() as client:
        futures = client.map(grid_cell, range(30))
        wait(futures, timeout=6)
        client.gather(futures)


@failure(
    "driver-exception",
    names=["ZeroDivisionError", "failures_fourth_services"],
    how="command",
    noise="a worker was killed and came back; much work is left when it ends",
    held_out="fourth: services",
)
def the_driver_divides_by_what_a_shop_has_not_sold(stage: Stage) -> None:
    marker = stage.folder / "killed"

    def sold(shop: int) -> int:
        if shop == 1 and not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(0.5)
        return shop % 7

    with stage.local() as client:
        total = 0.0
        futures = client.map(sold, range(1, 40))
        for done in as_completed(futures):
            total += 100 / done.result()
        print(total)


@failure("driver-exception", names=["merge|object|int64|str"], held_out="fourth: tasks")
def keys_of_a_merge_have_different_types(stage: Stage) -> None:
    with stage.local(2):
        left = dd.from_pandas(sales(), npartitions=4)
        shops = pd.DataFrame({"shop": [f"{n}" for n in range(12)], "city": "Ulm"})
        left.persist().shop.nunique().compute()
        right = dd.from_pandas(shops, npartitions=2)
        left.merge(right, on="shop", how="left").city.value_counts().compute()


@failure(
    "driver-exception",
    names=["Metadata inference|meta", "initial"],
    held_out="fourth: tasks",
)
def metadata_of_an_apply_cannot_be_inferred(stage: Stage) -> None:
    def initial(name: str) -> str:
        return {"a": "x", "b": "y"}[name[0]]

    with stage.started(2):
        frame = pd.DataFrame({"name": ["anna", "bert"] * 50})
        ddf = dd.from_pandas(frame, npartitions=4)
        ddf.name.apply(initial).value_counts().compute()


@failure(
    "driver-exception",
    names=["KeyError", "2024-13|report"],
    noise="a retried task, warnings of memory, a killed worker",
    held_out="fourth: tasks",
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


@failure(
    "driver-exception",
    "cancelled",
    names=["clos|cancel"],
    why="futures are asked whose client is closed: they were given up with it",
    held_out="fourth: tasks",
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


@failure(
    "driver-exception",
    names=["KeyError", "shop-7"],
    noise="a callback raises, and is only logged",
    held_out="fourth: tasks",
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
