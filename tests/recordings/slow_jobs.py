"""Jobs that are slow: what each does is what must be found in its recording."""

from __future__ import annotations

import gc
import os
import random
import signal
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import psutil
from distributed import Client, wait

Block = Any
MIB = 2**20


def inc(number: float) -> float:
    return number + 1


def added(*numbers: Any) -> Any:
    return sum(numbers)


def python_loop(seed: int, steps: int = 300_000) -> float:
    """Hold the GIL, as plain Python does."""
    chance, price = random.Random(seed), 100.0
    for _ in range(steps):
        price *= 1 + chance.gauss(0, 0.001)
    return price


def packed(number: int, size: int = 2_000_000) -> int:
    """Compute without the GIL."""
    data = np.random.default_rng(number).bytes(size)
    return len(zlib.compress(data, 9))


def block_of(number: int, mebibytes: int = 20) -> Block:
    return np.full(mebibytes * MIB // 8, float(number))


def after(_: Any, number: int, seconds: float = 0.05) -> int:
    time.sleep(seconds)
    return number


# Short runs, of which a large share is lost


def second_half_is_one_task(client: Client, data: Path) -> None:
    """Ten seconds on two threads; the last task takes five of them."""
    seconds = [0.6] * 16 + [5.0]
    client.gather(client.map(after, [0] * 17, range(17), seconds))


def second_half_is_one_merge(client: Client, data: Path) -> None:
    """What the parts are merged in is one task, without its like."""
    parts = client.map(after, [0] * 20, range(20), [1.0] * 20)
    client.submit(merged, parts).result()


def merged(parts: list[int], seconds: float = 5.0) -> int:
    time.sleep(seconds)
    return sum(parts)


def driver_computes_most_of_a_short_run(client: Client, data: Path) -> None:
    """Workers idle for most of it, while the driver works on what they gave."""
    for _ in range(2):
        client.gather(client.map(after, [0] * 4, range(4), [0.5] * 4, pure=False))
        begun = time.thread_time()
        while time.thread_time() - begun < 6:
            python_loop(1)


def chunks_of_a_third_of_a_worker(client: Client, data: Path) -> None:
    """Pieces of 330 MiB on a worker of 1 GiB, which spills them."""
    kept = client.map(block_of, range(5), [330] * 5)
    wait(kept)
    client.gather(client.map(added_up, kept))


def added_up(block: Block) -> float:
    return float(block.sum())


# Many small things


def tiny_futures(client: Client, data: Path) -> None:
    client.gather(client.map(inc, range(4_000)))


def tiny_partitions(client: Client, data: Path) -> None:
    frame = pd.DataFrame({"x": range(50_000), "k": np.arange(50_000) % 7})
    ddf = dd.from_pandas(frame, npartitions=1_500)
    ddf.map_partitions(lambda part: part.assign(y=part.x * 2)).x.sum().compute()


def tiny_chunks(client: Client, data: Path) -> None:
    x = da.ones((1_200, 1_200), chunks=(30, 30))
    (x + 1).sum().compute()


# What threads wait for


def python_in_threads(client: Client, data: Path) -> None:
    client.gather(client.map(python_loop, range(50), steps=1_500_000))


def frames_of_text_in_threads(client: Client, data: Path) -> None:
    def slugs(part: pd.DataFrame) -> Any:
        texts = part.page.astype(object)
        return texts.map(lambda t: "-".join(sorted(t.upper().strip("/").split("/"))))

    clicks = dd.read_parquet(data / "clicks")
    clicks.map_partitions(slugs, meta=("slug", "object")).count().compute()


def waiting_futures(client: Client, data: Path) -> None:
    client.gather(client.map(time.sleep, [0.4] * 60, pure=False))


def waiting_partitions(client: Client, data: Path) -> None:
    def read(number: int) -> pd.DataFrame:
        time.sleep(0.5)
        return pd.DataFrame({"x": range(1_000)})

    meta = pd.DataFrame({"x": [1]})
    dd.from_map(read, range(60), meta=meta).x.sum().compute()


def too_many_threads(client: Client, data: Path) -> None:
    client.gather(client.map(packed, range(150), size=8_000_000))


def too_many_workers(client: Client, data: Path) -> None:
    x = da.random.random((240, 400_000), chunks=(4, 400_000))
    da.fft.fft(x, axis=1).real.std().compute()
    x.map_blocks(np.sort, axis=1).std().compute()


# What is uneven


def one_long_task(client: Client, data: Path) -> None:
    futures = client.map(python_loop, [3_000 + n for n in range(40)], key="work")
    futures += [client.submit(python_loop, 9, 40_000_000, key="work-99999")]
    client.gather(futures)


def one_large_partition(client: Client, data: Path) -> None:
    def work(part: pd.DataFrame) -> Any:
        return part.x.map(lambda n: sum(range(int(n) % 40 + 8_000)))

    sizes = [3_000] * 30 + [300_000]
    parts = [pd.DataFrame({"x": np.arange(n)}) for n in sizes]
    ddf = dd.from_map(lambda n: parts[n], range(31), meta=parts[0].iloc[:0])
    ddf.map_partitions(work, meta=("x", "int64")).sum().compute()


def driver_works_between(client: Client, data: Path) -> None:
    for n in range(12):
        client.gather(client.map(python_loop, [n * 10, n * 10 + 1]))
        python_loop(n, 1_500_000)


def driver_waits_between(client: Client, data: Path) -> None:
    for n in range(8):
        dask.delayed(added)(
            *[dask.delayed(packed)(n * 10 + i) for i in range(4)]
        ).compute()
        time.sleep(2.5)  # a person, a database, a report


def few_partitions(client: Client, data: Path) -> None:
    parts = [pd.DataFrame({"x": np.arange(n, n + 10)}) for n in range(2)]
    ddf = dd.from_map(lambda n: parts[n], range(2), meta=parts[0].iloc[:0])

    def work(part: pd.DataFrame) -> Any:
        return part.x.map(lambda n: python_loop(int(n), 6_000_000))

    ddf.map_partitions(work, meta=("x", "float64")).sum().compute()


def one_after_the_other(client: Client, data: Path) -> None:
    step = dask.delayed(python_loop)(1)
    for n in range(25):
        step = dask.delayed(lambda x, n: x + python_loop(n, 2_500_000))(step, n)
    step.compute()


# Memory and disk


def held_array(client: Client, data: Path) -> None:
    x = da.random.random((12_000, 12_000), chunks=(1_500, 1_500)).persist()
    wait(x)
    for _ in range(2):
        (x + 1).mean().compute()


def held_frame(client: Client, data: Path) -> None:
    x = dd.read_parquet(data / "x")
    wide = dd.concat([x.assign(w=n) for n in range(8)]).persist()
    wait(wide)
    wide.groupby("id4")["v3"].mean().compute()


def ran_ahead(client: Client, data: Path) -> None:
    """Everything is read before anything is reduced."""
    blocks = [client.submit(block_of, n, pure=False) for n in range(80)]
    sums = [client.submit(lambda b: after(b, 1, 0.3), b, pure=False) for b in blocks]
    del blocks
    client.gather(sums)


def ran_ahead_in_array(client: Client, data: Path) -> None:
    def slow_sum(block: Block) -> Block:
        time.sleep(0.3)
        return block.sum(keepdims=True)

    x = da.from_delayed(dask.delayed(block_of)(0), (20 * MIB // 8,), float)
    x = da.concatenate(
        [
            da.from_delayed(dask.delayed(block_of)(n), (20 * MIB // 8,), float)
            for n in range(80)
        ]
    )
    x.map_blocks(slow_sum, chunks=(1,)).sum().compute()


def large_chunks(client: Client, data: Path) -> None:
    x = da.random.random((10_000, 15_000), chunks=(2_500, 10_000))
    (x * 2 + 1).std().compute()


def large_partitions(client: Client, data: Path) -> None:
    def read(number: int) -> pd.DataFrame:
        return pd.DataFrame(np.random.default_rng(number).random((4_000_000, 6)))

    meta = pd.DataFrame(np.zeros((1, 6)))
    ddf = dd.from_map(read, range(8), meta=meta, enforce_metadata=False)
    ddf.map_partitions(lambda part: part * 2).sum().compute()


def _left(client: Client, share: float) -> int:
    """Return how many MiB a worker can take until it has a share of its limit."""
    used = max(client.run(lambda: psutil.Process().memory_info().rss).values())
    limit = client.scheduler_info(n_workers=-1)["workers"]
    least = min(worker["memory_limit"] for worker in limit.values())
    return int(share * least - used) // MIB


def near_the_limit(client: Client, data: Path) -> None:
    def hold(mebibytes: int) -> int:
        held = [bytearray(os.urandom(1024)) * 1024 for _ in range(mebibytes)]
        time.sleep(3)
        return len(held)

    client.submit(hold, _left(client, 0.92)).result()


def near_the_limit_by_results(client: Client, data: Path) -> None:
    number = _left(client, 0.92) // 20
    blocks = client.map(block_of, range(number))
    wait(blocks)
    client.gather(client.map(after, blocks, range(number), seconds=0.2))


_kept: list[Any] = []


def leaky(number: int) -> int:
    """Keep a little of each task for ever."""
    _kept.append(bytearray(os.urandom(1024)) * (6 * 1024))
    time.sleep(0.15)
    return number


def leaking(client: Client, data: Path) -> None:
    client.gather(client.map(leaky, range(160), pure=False))


def leaking_cache(client: Client, data: Path) -> None:
    def looked_up(number: int) -> float:
        cache = vars(time).setdefault("_cache", {})
        cache[number] = np.random.default_rng(number).random(700_000)
        time.sleep(0.1)
        return float(cache[number].sum())

    for n in range(4):
        parts = [dask.delayed(looked_up)(n * 60 + i) for i in range(60)]
        dask.delayed(added)(*parts).compute()


def _tangled(number: int) -> int:
    """Make many small objects that refer to each other."""
    nodes: list[Any] = []
    for n in range(600_000):
        node = {"n": n, "previous": nodes[-1] if nodes else None, "list": [n]}
        nodes.append(node)
    gc.collect()
    return len(nodes)


def tangled_objects(client: Client, data: Path) -> None:
    client.gather(client.map(_tangled, range(24)))


def collecting_by_hand(client: Client, data: Path) -> None:
    def careful(number: int) -> int:
        held = [[n] for n in range(500_000)]
        for _ in range(10):
            gc.collect()
        return len(held)

    dask.compute(*[dask.delayed(careful)(n) for n in range(30)])


# Network, scheduler, loops


def sent_around(client: Client, data: Path) -> None:
    """Results are made on one worker and wanted on the other."""
    here, there = sorted(client.scheduler_info(n_workers=-1)["workers"])[:2]
    for n in range(16):
        blocks = client.map(
            block_of, range(n * 6, n * 6 + 6), mebibytes=60, workers=[here], pure=False
        )
        client.gather(client.map(len, blocks, workers=[there], pure=False))


def wanted_by_all(client: Client, data: Path) -> None:
    """Every worker wants every block."""
    addresses = sorted(client.scheduler_info(n_workers=-1)["workers"])
    for n in range(4):
        blocks = client.map(block_of, range(n * 9, n * 9 + 9), mebibytes=40, pure=False)
        wants = [client.submit(len, blocks, workers=[a], pure=False) for a in addresses]
        client.gather(wants)


def holds_the_gil(client: Client, data: Path) -> None:
    def one_long_call(number: int) -> int:
        return sum(range(number, 420_000_000))

    client.gather(client.map(one_long_call, range(4)))


def sorts_at_length(client: Client, data: Path) -> None:
    def sort(number: int) -> float:
        values = np.random.default_rng(number).random(6_000_000).tolist()
        values.sort()
        return float(values[0])

    dask.compute(*[dask.delayed(sort)(n) for n in range(4)])


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


# Done again


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
    import threading

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


# What was asked for and is not so


def limit_above_the_host(client: Client, data: Path) -> None:
    client.gather(client.map(packed, range(20)))


def grown_with_too_high_a_limit(client: Client, data: Path) -> None:
    cluster: Any = client.cluster
    client.gather(client.map(packed, range(10)))
    cluster.scale(3)
    client.wait_for_workers(3, timeout=60)
    client.gather(client.map(packed, range(10, 30)))


def talkative(client: Client, data: Path) -> None:
    def talk(number: int) -> int:
        for n in range(200):
            print(f"line {n} of {number}")
        return number

    client.gather(client.map(talk, range(300)))
