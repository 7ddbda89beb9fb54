"""Jobs whose threads are in each other's way: GIL, cores, garbage collection, event loops."""

from __future__ import annotations

import gc
import json
import re
import time
import zlib
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import dask.bag as db
import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import Client, get_worker
from work import packed, python_loop


def python_in_threads(client: Client, data: Path) -> None:
    client.gather(client.map(python_loop, range(50), steps=1_500_000))


def frames_of_text_in_threads(client: Client, data: Path) -> None:
    def slugs(part: pd.DataFrame) -> Any:
        texts = part.page.astype(object)
        return texts.map(lambda t: "-".join(sorted(t.upper().strip("/").split("/"))))

    clicks = dd.read_parquet(data / "clicks")
    clicks.map_partitions(slugs, meta=("slug", "object")).count().compute()


def too_many_threads(client: Client, data: Path) -> None:
    client.gather(client.map(packed, range(150), size=8_000_000))


def too_many_workers(client: Client, data: Path) -> None:
    x = da.random.random((240, 400_000), chunks=(4, 400_000))
    da.fft.fft(x, axis=1).real.std().compute()
    x.map_blocks(np.sort, axis=1).std().compute()


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


def rows_applied_in_threads(client: Client, data: Path) -> None:
    """A frame, and a function of Python for each of its rows."""
    frame = pd.DataFrame({"x": np.arange(240_000), "y": 2.0})
    ddf = dd.from_pandas(frame, npartitions=32)

    def score(row: Any) -> float:
        times = 40 + int(row["x"]) % 9
        return float(sum(n * row["y"] for n in range(times)))

    ddf.map_partitions(
        lambda part: part.apply(score, axis=1), meta=("score", "float64")
    ).sum().compute()


def loops_in_threads(client: Client, data: Path) -> None:
    parts = [dask.delayed(python_loop)(n, 900_000) for n in range(36)]
    dask.compute(*parts)


def products_by_turns(client: Client, data: Path) -> None:
    x = da.random.random((112_000, 700), chunks=(700, 700))
    x.map_blocks(
        lambda b: np.linalg.svd(b, compute_uv=False)[None], chunks=(1, 700), dtype=float
    ).sum().compute()
    da.compute(*[(x @ x[:700].T).std() for _ in range(4)])


def native_threads(client: Client, data: Path) -> None:
    """Each task's library starts as many threads as it likes."""

    def products(number: int) -> float:
        block = np.random.default_rng(number).random((1_500, 1_500))
        return float(sum((block @ block).mean() for _ in range(4)))

    client.gather(client.map(products, range(40)))


def one_native_thread(client: Client, data: Path) -> None:
    native_threads(client, data)


def a_power_of_many_digits(client: Client, data: Path) -> None:
    client.gather(client.map(lambda n: (3 + n) ** 13_000_000 % 7, range(3), pure=False))


def records_in_plain_objects(client: Client, data: Path) -> None:
    """Very many small objects, that refer to each other, in each task."""

    def parse(number: int) -> int:
        text = json.dumps([{"id": n, "of": [n, {"m": n}]} for n in range(40_000)])
        found: list[Any] = []
        for _ in range(12):
            found.extend(json.loads(text))
        return len(found)

    db.from_sequence(range(16), npartitions=16).map(parse).sum().compute()


def records_left_alone(client: Client, data: Path) -> None:
    client.run(gc.disable)
    records_in_plain_objects(client, data)
    client.run(gc.enable)
