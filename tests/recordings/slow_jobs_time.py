"""Jobs that take longer than they need; and the same jobs, fixed."""

from __future__ import annotations

import functools
import gc
import json
import re
import threading
import time
import urllib.request
import zlib
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
from distributed import Client, as_completed, get_worker, wait
from slow_jobs import block_of, python_loop

Block = Any
MIB = 2**20


# Many small things


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


# What threads wait for


def _parsed(number: int) -> int:
    text = json.dumps(
        [{"n": n, "word": f"w{n}", "tags": [n] * 5} for n in range(9_000)]
    )
    return sum(len(json.loads(text)) + number * 0 for _ in range(14))


def json_in_threads(client: Client, data: Path) -> None:
    client.gather(client.map(_parsed, range(110), pure=False))


def words_by_pattern(client: Client, data: Path) -> None:
    """A bag of lines, and patterns in plain Python, in the threads of one worker."""
    pattern = re.compile(r"(word\d*?7)\b.*?(word\d*?3)\b")
    lines = [f"word{n} " * 3 + f"word{n}7 and word{n}3" for n in range(2_000)]
    bag = db.from_sequence(range(90), npartitions=90)
    bag.map(
        lambda _: sum(len(pattern.findall(line * 3)) for line in lines)
    ).sum().compute()


def _compressed(number: int, size: int = 3_000_000) -> int:
    return len(zlib.compress(np.random.default_rng(number).bytes(size), 9))


def compressed_by_many(client: Client, data: Path) -> None:
    client.gather(client.map(_compressed, range(150)))


def products_by_many(client: Client, data: Path) -> None:
    x = da.random.random((48_000, 1_200), chunks=(800, 1_200))
    x.map_blocks(lambda b: np.linalg.svd(b, compute_uv=False)[None], dtype=float,
                 chunks=(1, 800)).sum().compute()  # fmt: skip


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


# What is uneven


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


# The driver


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


# The collector, loops, the scheduler


def objects_that_stay(client: Client, data: Path) -> None:
    """A large index of small objects stays on each worker, and each task asks to tidy up."""

    def work(number: int) -> int:
        index = vars(get_worker()).setdefault("index", [])
        if not index:
            index.extend({"n": n, "next": [n + 1]} for n in range(1_200_000))
        rows = [(n, [n]) for n in range(50_000)]
        gc.collect()
        gc.collect()
        return len(rows)

    client.gather(client.map(work, range(60), pure=False))


def objects_left_alone(client: Client, data: Path) -> None:
    def work(number: int) -> int:
        index = vars(get_worker()).setdefault("index", [])
        if not index:
            index.extend({"n": n, "next": [n + 1]} for n in range(1_200_000))
            gc.freeze()
        return len([(n, [n]) for n in range(50_000)])

    client.gather(client.map(work, range(60), pure=False))


def a_pattern_that_explodes(client: Client, data: Path) -> None:
    def check(number: int) -> bool:
        return re.match(r"(a+)+$", "a" * 27 + "b") is None

    client.gather(client.map(check, range(4)))


def the_schedulers_loop(client: Client, data: Path) -> None:
    """Somebody's function in the scheduler takes seconds, again and again."""
    futures = client.map(python_loop, range(40))
    for _ in range(4):
        client.run_on_scheduler(lambda: time.sleep(4))
    client.gather(futures)


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
