"""Jobs whose workers wait: for services, the driver, one long task, the network."""

from __future__ import annotations

import functools
import threading
import time
import urllib.request
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import dask.bag as db
import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import Client, as_completed, get_worker
from work import Block, added, after, block_of, packed, python_loop


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


def waiting_futures(client: Client, data: Path) -> None:
    client.gather(client.map(time.sleep, [0.4] * 60, pure=False))


def waiting_partitions(client: Client, data: Path) -> None:
    def read(number: int) -> pd.DataFrame:
        time.sleep(0.5)
        return pd.DataFrame({"x": range(1_000)})

    meta = pd.DataFrame({"x": [1]})
    dd.from_map(read, range(60), meta=meta).x.sum().compute()


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


@contextmanager
def _service(seconds: float) -> Any:
    """Serve answers that take a while, on this machine."""

    class Slow(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            time.sleep(seconds)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"x" * 1_000)

        def log_message(self, *_: Any) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Slow) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()


def _got(url: str, _: int) -> int:
    with urllib.request.urlopen(url) as answer:
        return len(answer.read())


def asked_of_a_service(client: Client, data: Path) -> None:
    with _service(0.6) as url:
        client.gather(client.map(functools.partial(_got, url), range(80), pure=False))


def rows_from_a_slow_base(client: Client, data: Path) -> None:
    """A frame from queries, each of which the base takes its time for."""
    with _service(0.8) as url:

        def query(number: int) -> pd.DataFrame:
            return pd.DataFrame({"x": [_got(url, number)] * 100})

        meta = pd.DataFrame({"x": [1]})
        dd.from_map(query, range(60), meta=meta).groupby("x").size().compute()


def skewed_groups(client: Client, data: Path) -> None:
    """Half of all rows have one key."""

    def model(group: pd.DataFrame) -> float:
        return python_loop(1, 400 * len(group))

    keys = np.where(
        np.random.default_rng(0).random(60_000) < 0.75, 0, np.arange(60_000) % 40
    )
    frame = dd.from_pandas(pd.DataFrame({"k": keys, "x": 1.0}), npartitions=16)
    frame = frame.shuffle("k", npartitions=24)
    frame.groupby("k").apply(model, meta=("x", "float64")).compute()


def even_groups(client: Client, data: Path) -> None:
    def model(group: pd.DataFrame) -> float:
        return python_loop(1, 400 * len(group))

    frame = pd.DataFrame({"k": np.arange(60_000) % 400, "x": 1.0})
    ddf = dd.from_pandas(frame, npartitions=16).shuffle("k", npartitions=24)
    ddf.groupby("k").apply(model, meta=("x", "float64")).compute()


def _on_slow_host(number: int) -> float:
    slow = str(get_worker().name) == "0"
    return python_loop(number, 12_000_000 if slow else 600_000)


def a_slow_host(client: Client, data: Path) -> None:
    """One worker's machine is twenty times slower than the others."""
    client.gather(client.map(_on_slow_host, range(60)))


def hosts_alike(client: Client, data: Path) -> None:
    client.gather(client.map(functools.partial(python_loop, steps=600_000), range(60)))


def results_worked_on_here(client: Client, data: Path) -> None:
    """Pieces are fetched one after the other, and the driver does the work."""
    for n in range(25):
        block = client.submit(block_of, n, 4).result()
        client.gather(client.map(python_loop, range(n * 4, n * 4 + 4)))
        python_loop(int(block[0]), 2_500_000)


def results_worked_on_there(client: Client, data: Path) -> None:
    blocks = [client.submit(block_of, n, 4) for n in range(25)]
    loops = client.map(python_loop, range(100))
    work = [
        client.submit(lambda b: python_loop(int(b[0]), 2_500_000), b) for b in blocks
    ]
    client.gather([*loops, *work])


def a_report_at_the_end(client: Client, data: Path) -> None:
    """The cluster is kept while the driver draws for half a minute."""
    client.gather(client.map(python_loop, range(60)))
    python_loop(0, 35_000_000)


def no_report_at_the_end(client: Client, data: Path) -> None:
    client.gather(client.map(python_loop, range(60)))


def too_few_asked_for(client: Client, data: Path) -> None:
    """A window of two futures, for six threads."""
    todo, done = (
        iter(range(2, 44)),
        as_completed(
            client.map(functools.partial(python_loop, steps=900_000), range(2))
        ),
    )
    for future in done:
        future.result()
        if (n := next(todo, None)) is not None:
            done.add(client.submit(python_loop, n, 900_000))


def all_asked_for(client: Client, data: Path) -> None:
    client.gather(client.map(functools.partial(python_loop, steps=900_000), range(44)))


def one_file_for_all(client: Client, data: Path) -> None:
    """A frame of one partition, on four workers."""
    frame = dd.read_parquet(data / "x" / "00.parquet")

    def work(part: pd.DataFrame) -> pd.DataFrame:
        return part.assign(y=python_loop(len(part), 14_000_000))

    frame.map_partitions(work, meta=frame._meta.assign(y=1.0)).y.sum().compute()


def a_product_with_its_transpose(client: Client, data: Path) -> None:
    """Every pair of blocks meets, and little is computed of each."""
    blocks = [client.submit(block_of, n, 48, pure=False) for n in range(16)]
    pairs = [
        client.submit(lambda a, b: float(a[0] + b[-1]), a, b, pure=False)
        for a in blocks
        for b in blocks
        if a is not b
    ]
    client.gather(pairs)


def night_of_paths(client: Client, data: Path, *, slow: int = 1) -> None:
    """The same paths each night; one night a slower library is below."""
    loop = functools.partial(python_loop, steps=150_000 * slow)
    client.gather(client.map(loop, range(40), pure=False))


def naps_of_tasks(client: Client, data: Path) -> None:
    """Downloads, as people write them down to try something."""
    parts = [dask.delayed(lambda n: after(None, n, 0.5))(n) for n in range(44)]
    dask.delayed(sum)(parts).compute()


def a_bag_of_downloads(client: Client, data: Path) -> None:
    bag = db.from_sequence(range(120), npartitions=24)
    bag.map(lambda n: after(None, n, 0.12)).sum().compute()


def one_sleeps_on(client: Client, data: Path) -> None:
    parts = [
        dask.delayed(lambda n, s: after(None, n, s))(n, 9 if n == 5 else 0.15)
        for n in range(24)
    ]
    dask.compute(*parts)


def none_sleeps_on(client: Client, data: Path) -> None:
    parts = [
        dask.delayed(lambda n, s: after(None, n, s))(n, 0.5 if n < 20 else 0.15)
        for n in range(36)
    ]
    dask.compute(*parts)


def a_block_unlike_the_others(client: Client, data: Path) -> None:
    def work(block: Block, block_info: Any = None) -> Block:
        corner = block_info[0]["chunk-location"] == (0, 0)
        python_loop(1, 22_000_000 if corner else 500_000)
        return block

    x = da.ones((400, 400), chunks=(100, 100))
    x.map_blocks(work, dtype=float, meta=np.ones((0, 0))).sum().compute()


def naps_of_the_driver(client: Client, data: Path) -> None:
    for n in range(10):
        client.submit(python_loop, n, 900_000).result()
        time.sleep(1.2)


def sums_fetched_one_by_one(client: Client, data: Path) -> None:
    """The driver works with each result, before it asks for the next."""
    for _ in range(8):
        x = da.random.random((2_000, 2_000), chunks=(1_000, 1_000))
        found = x.map_blocks(lambda b: b + python_loop(1, 500_000)).sum().compute()
        python_loop(int(found) % 7, 4_000_000)


def a_chain_on_two(client: Client, data: Path) -> None:
    step = client.submit(python_loop, 0, 2_500_000)
    for n in range(18):
        step = client.submit(lambda _, n: python_loop(n, 2_500_000), step, n)
    step.result()


def three_partitions(client: Client, data: Path) -> None:
    ddf = dd.from_pandas(pd.DataFrame({"x": range(3_000)}), npartitions=3)
    ddf.map_partitions(
        lambda part: part.assign(y=python_loop(1, 28_000_000)),
        meta={"x": "int64", "y": "float64"},
    ).y.sum().compute()


def night_of_queries(client: Client, data: Path, *, seconds: float = 0.2) -> None:
    """The same queries each night; one night the base answers late."""
    client.gather(client.map(lambda n: after(None, n, seconds), range(24), pure=False))
