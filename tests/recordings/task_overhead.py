"""Jobs whose tasks are too small or too many for their scheduler: tiny, stolen, in large graphs."""

from __future__ import annotations

import functools
import threading
import time
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import dask.bag as db
import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import Client, wait
from distributed.diagnostics.plugin import SchedulerPlugin
from work import added, after, block_of, python_loop


def inc(number: float) -> float:
    return number + 1


def tiny_futures(client: Client, data: Path) -> None:
    client.gather(client.map(inc, range(4_000)))


def tiny_partitions(client: Client, data: Path) -> None:
    frame = pd.DataFrame({"x": range(50_000), "k": np.arange(50_000) % 7})
    ddf = dd.from_pandas(frame, npartitions=1_500)
    ddf.map_partitions(lambda part: part.assign(y=part.x * 2)).x.sum().compute()


def tiny_chunks(client: Client, data: Path) -> None:
    x = da.ones((1_200, 1_200), chunks=(30, 30))
    (x + 1).sum().compute()


def data_in_the_graph(client: Client, data: Path) -> None:
    table = np.random.default_rng(1).random(8_000_000)
    client.gather([client.submit(after, table, n, pure=False) for n in range(3)])


def frame_in_the_graph(client: Client, data: Path) -> None:
    frame = pd.DataFrame(np.random.default_rng(1).random((1_000_000, 10)))
    dd.from_pandas(frame, npartitions=10).sum().compute()


def everything_with_everything(client: Client, data: Path) -> None:
    parts = [dask.delayed(after)(None, n, 0.01) for n in range(160)]
    middle = [dask.delayed(len)(parts) for _ in range(160)]
    last = [dask.delayed(lambda x, n: after(x, n, 0.01))(middle, n) for n in range(160)]
    dask.delayed(added)(*last).compute()


def more_threads_than_a_scheduler_feeds(client: Client, data: Path) -> None:
    client.gather(client.map(time.sleep, [0.025] * 20_000, pure=False))


def rows_one_by_one(client: Client, data: Path) -> None:
    """A task for each row, as loops over delayed functions make them."""
    rows = [dask.delayed(lambda row: row * 2 + 1)(n) for n in range(5_000)]
    dask.delayed(sum)(rows).compute()


def rows_in_batches(client: Client, data: Path) -> None:
    size = 2_500
    rows = [
        dask.delayed(lambda a: [n * 2 + 1 for n in range(a, a + size)])(a)
        for a in range(0, 5_000, size)
    ]
    dask.delayed(lambda parts: sum(map(sum, parts)))(rows).compute()


def bag_of_crumbs(client: Client, data: Path) -> None:
    bag = db.from_sequence(range(12_000), npartitions=3_000)
    bag.map(lambda n: n % 7).filter(bool).map(lambda n: n + 1).sum().compute()


def bag_of_pieces(client: Client, data: Path) -> None:
    bag = db.from_sequence(range(12_000), npartitions=4)
    bag.map(lambda n: n % 7).filter(bool).map(lambda n: n + 1).sum().compute()


def a_table_in_a_closure(client: Client, data: Path) -> None:
    table = np.random.default_rng(1).random(6_000_000)
    client.gather(client.map(lambda n: float(table[n]), range(8)))


def frames_as_arguments(client: Client, data: Path) -> None:
    frames = [
        pd.DataFrame(np.random.default_rng(n).random((200_000, 8))) for n in range(6)
    ]
    dask.compute(*[dask.delayed(len)(frame) for frame in frames])


def a_shuffle_of_many_tasks(client: Client, data: Path) -> None:
    """Every output takes from every input, by tasks."""
    random_ = np.random.default_rng(0)
    frame = pd.DataFrame({"k": random_.integers(0, 10_000, 200_000), "x": 1})
    ddf = dd.from_pandas(frame, npartitions=150)
    ddf.shuffle("k", shuffle_method="tasks", max_branch=200).map_partitions(
        len
    ).compute()


def a_plugin_on_the_scheduler(client: Client, data: Path) -> None:
    """Somebody's plugin writes down each transition, which takes it a millisecond."""
    from distributed.diagnostics.plugin import SchedulerPlugin

    class Audited(SchedulerPlugin):
        def transition(
            self, key: Any, start: str, finish: str, *a: Any, **kw: Any
        ) -> None:
            until = time.thread_time() + 0.001
            while time.thread_time() < until:
                pass

    client.register_plugin(Audited(), name="audited")
    client.gather(
        client.map(lambda n: python_loop(n, 25_000), range(2_500), pure=False)
    )
    client.unregister_scheduler_plugin("audited")


def no_plugin_on_the_scheduler(client: Client, data: Path) -> None:
    client.gather(
        client.map(lambda n: python_loop(n, 25_000), range(2_500), pure=False)
    )


def all_behind_one_input(client: Client, data: Path) -> None:
    """All need what lies on one worker, so that all are put there, and stolen."""
    first = client.scheduler_info(n_workers=-1)["workers"]
    base = client.submit(block_of, 1, 60, workers=[min(first)])
    wait(base)
    uses = [
        client.submit(
            lambda b, n: python_loop(n, 500 + 3_000 * (n % 5)), base, n, pure=False
        )
        for n in range(3_000)
    ]
    client.gather(uses)


def sent_to_all(client: Client, data: Path) -> None:
    base = client.submit(block_of, 1, 60)
    client.replicate(base)
    uses = [
        client.submit(
            lambda b, n: python_loop(n, 500 + 3_000 * (n % 5)), base, n, pure=False
        )
        for n in range(3_000)
    ]
    client.gather(uses)


def more_sleepers_than_it_feeds(client: Client, data: Path) -> None:
    """Many threads, and tasks that are neither tiny nor long."""
    client.gather(client.map(lambda n: time.sleep(0.03), range(9_000), pure=False))


def each_needs_hundreds(client: Client, data: Path) -> None:
    """A graph of few tasks with very many edges between them."""
    wide, deep = 400, 3
    graph: dict[Any, Any] = {f"in-{n}": (python_loop, n, 20_000) for n in range(wide)}
    before = [f"in-{n}" for n in range(wide)]
    for level in range(deep):
        now = [f"mid{level}-{n}" for n in range(wide)]
        graph |= {
            key: (lambda xs, n=n: python_loop(n + len(xs), 20_000), list(before))
            for n, key in enumerate(now)
        }
        before = now
    graph["end"] = (sum, before)
    client.get(graph, "end")


def half_as_many(number: int = 600) -> list[Any]:
    return [dask.delayed(python_loop)(n, 60_000) for n in range(number)]


def a_busy_thread_beside_the_scheduler(client: Client, data: Path) -> None:
    """Somebody's thread in the scheduler's process computes all the while."""

    def burn(dask_scheduler: Any) -> None:
        until = time.monotonic() + 25

        def loop() -> None:
            while time.monotonic() < until and not getattr(
                dask_scheduler, "_enough", False
            ):
                sum(range(40_000))

        dask_scheduler._enough = False
        for _ in range(3):
            threading.Thread(target=loop, daemon=True).start()

    def enough(dask_scheduler: Any) -> None:
        dask_scheduler._enough = True

    client.run_on_scheduler(burn)
    client.gather(client.map(lambda n: time.sleep(0.04), range(1_600), pure=False))
    client.run_on_scheduler(enough)


def nobody_beside_the_scheduler(client: Client, data: Path) -> None:
    client.gather(client.map(lambda n: time.sleep(0.04), range(1_600), pure=False))


class _Audit(SchedulerPlugin):
    """Writes each transition down, which takes it a few milliseconds."""

    def transition(self, key: Any, *_: Any, **__: Any) -> None:
        until = time.thread_time() + 0.002
        while time.thread_time() < until:
            pass


def an_audit_of_transitions(client: Client, data: Path) -> None:
    client.register_plugin(_Audit(), name="audit")
    dask.compute(*half_as_many())
    client.unregister_scheduler_plugin("audit")


def no_audit_of_transitions(client: Client, data: Path) -> None:
    dask.compute(*half_as_many())


class Weights:
    """Something large that says it is small, as objects do whose size nothing reported it Dask."""

    def __init__(self, number: int, mebibytes: int) -> None:
        self.blocks = [block_of(number, mebibytes)]


def _used(weights: Any, seconds: float = 0.02) -> float:
    time.sleep(seconds)
    return float(weights.blocks[0][0])


def weights_of_no_size(client: Client, data: Path) -> None:
    """All lies on one worker, and to fetch it seems to cost nothing."""
    here = min(client.scheduler_info(n_workers=-1)["workers"])
    held = client.map(Weights, range(60), mebibytes=24, workers=[here])
    wait(held)
    client.gather([client.submit(_used, w, pure=False) for w in held * 10])


def weights_that_stay(client: Client, data: Path) -> None:
    here = min(client.scheduler_info(n_workers=-1)["workers"])
    held = client.map(Weights, range(60), mebibytes=24, workers=[here])
    wait(held)
    client.gather(
        [client.submit(_used, w, pure=False, workers=[here]) for w in held * 10]
    )


def names_of_their_own(
    client: Client, data: Path, *, workers: list[str] | None = None
) -> None:
    """All lies on one worker; tasks with names of their own seem to take half a second."""
    here = [min(client.scheduler_info(n_workers=-1)["workers"])]
    held = client.map(block_of, range(40), mebibytes=16, workers=workers or here)
    wait(held)
    client.gather(
        [
            client.submit(
                lambda b, n: python_loop(n, 15_000), held[n % 40], n, key=f"name{n}x"
            )
            for n in range(1_200)
        ]
    )


def names_without_stealing(client: Client, data: Path) -> None:
    names_of_their_own(client, data)


def names_with_inputs_everywhere(client: Client, data: Path) -> None:
    every = list(client.scheduler_info(n_workers=-1)["workers"])
    names_of_their_own(client, data, workers=every)


def crumbs_in_a_loop(client: Client, data: Path) -> None:
    """A loop that submits one at a time."""
    futures = [client.submit(functools.partial(pow, n), 2) for n in range(2_500)]
    client.gather(futures)
