"""Jobs whose work is done again: lost results, dead workers, restarted shuffles, retries."""

from __future__ import annotations

import functools
import os
import random
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import Client, get_worker, wait
from work import Block, fresh_folder, loaded, orders, python_loop


def _one_dies(client: Client) -> None:
    pid = next(iter(client.run(os.getpid).values()))
    os.kill(pid, signal.SIGKILL)


def lost_results(client: Client, data: Path) -> None:
    held = client.map(python_loop, range(50))
    wait(held)
    _one_dies(client)
    client.gather(held)


def asked_again_and_again(client: Client, data: Path) -> None:
    """Every answer begins with reading everything again."""

    def read(number: int) -> pd.DataFrame:
        python_loop(number, 900_000)
        return pd.DataFrame({"x": np.arange(1_000.0)})

    ddf = dd.from_map(read, range(8), meta=pd.DataFrame({"x": [1.0]}))
    parts = ddf.to_delayed()
    for fold in (len, lambda p: p.x.sum(), lambda p: p.x.max(), lambda p: p.x.std()):
        dask.compute(*[dask.delayed(fold)(part) for part in parts])


def held_by_a_worker_that_dies(client: Client, data: Path) -> None:
    x = da.random.random((8_000, 8_000), chunks=(1_000, 8_000))
    x = da.sqrt(da.exp(da.sin(x))).persist()
    wait(x)
    _one_dies(client)
    x.sum().compute()


def _dies_while(
    client: Client,
    prefix: str,
    compute: Callable[[], Any],
    lose: Callable[[Client], None] = _one_dies,
) -> None:
    """Kill a worker, or lose it otherwise, once the shuffle runs."""

    def kill() -> None:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            seen = client.run_on_scheduler(
                lambda dask_scheduler: {
                    name: dict(p.state_counts)
                    for name, p in dask_scheduler.task_prefixes.items()
                    if "transfer" in name
                }
            )
            if any(
                s.get("memory", 0) + s.get("released", 0) >= 4 for s in seen.values()
            ):
                lose(client)
                return
            time.sleep(0.02)

    killer = threading.Thread(target=kill)
    killer.start()
    compute()
    killer.join()


def shuffle_loses_a_worker(client: Client, data: Path) -> None:
    x = dd.read_parquet(data / "x")
    _dies_while(
        client, "shuffle", lambda: x.shuffle("id3").map_partitions(len).compute()
    )


def join_loses_a_worker(client: Client, data: Path) -> None:
    items, orders = dd.read_parquet(data / "items"), dd.read_parquet(data / "orders")
    joined = items.merge(orders, on="order", shuffle_method="p2p", broadcast=False)
    _dies_while(client, "hash-join", lambda: joined.price.sum().compute())


def a_frame_asked_thrice(client: Client, data: Path) -> None:
    def parse(part: pd.DataFrame) -> pd.DataFrame:
        return part.assign(y=python_loop(len(part), 900_000))

    frame = dd.read_parquet(data / "x", columns=["id4", "v3"])
    frame = frame.map_partitions(parse, meta=frame._meta.assign(y=1.0))
    parts = frame.to_delayed(optimize_graph=False)
    for fold in (len, lambda p: p.v3.sum(), lambda p: p.y.max()):
        dask.compute(*[dask.delayed(fold)(part) for part in parts])


def a_frame_held(client: Client, data: Path) -> None:
    def parse(part: pd.DataFrame) -> pd.DataFrame:
        return part.assign(y=python_loop(len(part), 900_000))

    frame = dd.read_parquet(data / "x", columns=["id4", "v3"])
    frame = frame.map_partitions(parse, meta=frame._meta.assign(y=1.0)).persist()
    dask.compute(frame.v3.sum(), frame.y.max(), frame.shape[0])


def held_until_a_restart(client: Client, data: Path) -> None:
    """What was held is lost with a worker that is restarted on purpose."""
    held = client.map(functools.partial(python_loop, steps=900_000), range(30))
    wait(held)
    client.restart_workers(list(client.scheduler_info(n_workers=-1)["workers"])[:1])
    client.gather(held)


def an_exit_that_nobody_sees(client: Client, data: Path) -> None:
    mark = data / "out-mark"

    def once(number: int) -> float:
        if number == 7 and not mark.exists():
            mark.mkdir()
            os._exit(3)
        return python_loop(number)

    client.gather(client.map(once, range(30)))


def too_much_the_first_time(client: Client, data: Path) -> None:
    """A task takes all of the memory once; its second try has less to do."""
    mark = data / "out-mark"

    def once(number: int) -> int:
        held: list[Any] = []
        if number == 3 and not mark.exists():
            mark.mkdir()
            while True:
                held.append(bytearray(os.urandom(1024)) * (8 * 1024))
                time.sleep(0.02)
        return int(python_loop(number))

    client.gather(client.map(once, range(20)))


def retired_while_it_shuffles(client: Client, data: Path) -> None:
    """The cluster is scaled down in the middle of a join."""

    def retire(client: Client) -> None:
        client.retire_workers(list(client.scheduler_info(n_workers=-1)["workers"])[:1])

    items, orders = dd.read_parquet(data / "items"), dd.read_parquet(data / "orders")
    joined = items.merge(orders, on="order", shuffle_method="p2p", broadcast=False)
    _dies_while(client, "hash-join", lambda: joined.price.sum().compute(), retire)


def rechunked_with_a_loss(client: Client, data: Path) -> None:
    with dask.config.set({"array.rechunk.method": "p2p"}):
        x = da.random.random((9_000, 9_000), chunks=(-1, 300)).rechunk((300, -1))
    _dies_while(client, "rechunk", lambda: x.std().compute())


def a_service_that_fails_at_times(client: Client, data: Path) -> None:
    chance = random.Random(3)
    seeds = [chance.random() for _ in range(60)]

    def fetch(number: int, seed: float) -> int:
        tried = vars(get_worker()).setdefault("tried", set())
        if seed < 0.3 and number not in tried:
            tried.add(number)
            raise ConnectionResetError(f"the service hung up on {number}")
        return int(python_loop(number, 20_000))

    with dask.annotate(retries=6):
        parts = [dask.delayed(fetch)(n, seed) for n, seed in enumerate(seeds)]
    dask.compute(*parts, optimize_graph=False)


def sums_of_what_is_not_held(client: Client, data: Path) -> None:
    """The same array is computed for each of three answers."""

    def read(number: int) -> Block:
        python_loop(number, 1_200_000)
        return np.full(1_000, float(number))

    parts = [da.from_delayed(dask.delayed(read)(n), (1_000,), float) for n in range(12)]
    x = da.concatenate(parts)
    for fold in (x.sum, x.mean, x.max):
        fold().compute()


def sums_of_what_is_held(client: Client, data: Path) -> None:
    def read(number: int) -> Block:
        python_loop(number, 1_200_000)
        return np.full(1_000, float(number))

    parts = [da.from_delayed(dask.delayed(read)(n), (1_000,), float) for n in range(12)]
    x = da.concatenate(parts).persist()
    for fold in (x.sum, x.mean, x.max):
        fold().compute()


def turned_and_added(client: Client, data: Path) -> None:
    """Each block needs the one across the diagonal."""
    x = da.random.random((12_000, 12_000), chunks=(1_500, 1_500)).persist()
    wait(x)
    for _ in range(4):
        (x + x.T).sum().compute()


def retried_by_hand(client: Client, data: Path) -> None:
    folder = fresh_folder(data, "by-hand")

    def fetched(number: int) -> int:
        mark = folder / f"{number}"
        time.sleep(0.1)
        if number % 4 == 1 and not mark.exists():
            mark.touch()
            raise OSError(f"503: no connection to the service for {number}")
        return number

    futures = client.map(fetched, range(16))
    wait(futures)
    client.retry([each for each in futures if each.status == "error"])
    client.gather(futures)


def retried_partitions(client: Client, data: Path) -> None:
    folder = fresh_folder(data, "parts")

    def priced(part: Any) -> Any:
        mark = folder / f"{part.index[0]}"
        if not mark.exists():
            mark.touch()
            raise KeyError("the price list is being replaced")
        return part.assign(price=1)

    meta = orders(1).assign(price=1)
    with dask.annotate(retries=4):
        ddf = dd.from_pandas(orders(), npartitions=5).map_partitions(priced, meta=meta)
        with dask.config.set({"optimization.fuse.active": False}):
            ddf.price.sum().compute(optimize_graph=False)


def two_workers_are_killed(client: Client, data: Path) -> None:
    futures = client.map(time.sleep, [0.3] * 40, pure=False)
    for count in (5, 15):
        while sum(each.done() for each in futures) < count:
            time.sleep(0.05)
        os.kill(client.run(os.getpid).popitem()[1], signal.SIGKILL)
    client.gather(futures)


def a_cluster_that_breathes(client: Client, data: Path) -> None:
    """Workers come and go as an adaptive cluster wants them to."""
    cluster: Any = client.cluster
    cluster.adapt(minimum=1, maximum=3, interval="200ms", wait_count=2)
    for count in (30, 2, 30):
        client.gather(client.map(time.sleep, [0.2] * count, pure=False))
        time.sleep(2)
    cluster.adapt(minimum=3, maximum=3)


def restarted_between_two_parts(client: Client, data: Path) -> None:
    """The driver restarts its workers on purpose, to begin with clean ones."""
    client.gather(client.map(loaded, range(10), pure=False))
    client.restart()
    client.gather(client.map(loaded, range(10), pure=False))


"""By the name of the job."""
