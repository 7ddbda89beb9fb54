"""Healthy jobs of single tasks: delayed, futures, bags; simulations, searches, fetching."""

from __future__ import annotations

import json
import random
import time
import zlib
from pathlib import Path
from typing import Any

import dask
import dask.bag as db
from distributed import Client, as_completed, wait

__all__ = ["TASKS", "make_texts"]

_WORDS = [f"word{zlib.crc32(str(n).encode()) % 5_000}" for n in range(20_000)]


def make_texts(folder: Path) -> None:
    """Write the texts and records that the jobs read, once."""
    folder = folder / "texts"
    if (folder / "done").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    chance = random.Random(5)
    for n in range(12):
        lines = (" ".join(chance.choices(_WORDS, k=12)) for _ in range(12_000))
        (folder / f"{n:02}.txt").write_text("\n".join(lines))
        records = (
            json.dumps({"user": chance.randrange(500), "paid": chance.random() * 100})
            for _ in range(25_000)
        )
        (folder / f"{n:02}.jsonl").write_text("\n".join(records))
    (folder / "done").touch()


def prices(seed: int, steps: int = 150_000) -> float:
    """One path of a simulated price, in plain Python."""
    chance, price = random.Random(seed), 100.0
    for _ in range(steps):
        price *= 1 + chance.gauss(0, 0.001)
    return price


def primes(start: int, count: int = 6_000) -> int:
    """How many numbers in a range are prime, by trial."""
    found = 0
    for n in range(start, start + count):
        found += n > 1 and all(n % d for d in range(2, int(n**0.5) + 1))
    return found


def packed(number: int) -> bytes:
    """Some bytes that took a while to make."""
    chance = random.Random(number)
    return zlib.compress(chance.randbytes(1_000_000), 6)


def fetched(number: int, seconds: float = 0.4) -> bytes:
    """What a service that takes its time answers: waiting is what this task does."""
    time.sleep(seconds + (number % 5) / 50)
    return bytes(1_000)


def added(*numbers: float) -> float:
    return sum(numbers)


def simulated(client: Client, data: Path) -> None:
    client.gather(client.map(prices, range(60)))


def simulated_as_completed(client: Client, data: Path) -> None:
    """Keep submitting until enough is known."""
    done = as_completed(client.map(prices, range(12)))
    for count, future in enumerate(done):
        future.result()
        if count < 50:
            done.add(client.submit(prices, 1_000 + count))


def searched_primes(client: Client, data: Path) -> None:
    parts = client.map(primes, range(10**7, 10**7 + 60 * 6_000, 6_000))
    client.submit(added, *[client.submit(int, p, pure=False) for p in parts]).result()


def tree_of_sums(client: Client, data: Path) -> None:
    level = [dask.delayed(prices)(n, 120_000) for n in range(64)]
    while len(level) > 1:
        level = [
            dask.delayed(added)(*level[n : n + 4]) for n in range(0, len(level), 4)
        ]
    level[0].compute()


def pipeline(client: Client, data: Path) -> None:
    """Make, check and count, each step a task."""
    made = [dask.delayed(packed)(n) for n in range(60)]
    checked = [dask.delayed(zlib.decompress)(each) for each in made]
    counted = [dask.delayed(zlib.adler32)(each) for each in checked]
    dask.compute(*counted)


def words_counted(client: Client, data: Path) -> None:
    lines = db.read_text(str(data / "texts" / "*.txt"))
    lines.str.split().flatten().frequencies().topk(20, key=1).compute()


def paid_by_user(client: Client, data: Path) -> None:
    records = db.read_text(str(data / "texts" / "*.jsonl")).map(json.loads)
    big = records.filter(lambda record: record["paid"] > 10)
    big.foldby(
        "user", lambda total, record: total + record["paid"], 0.0, added, 0.0
    ).compute()


def searched_parameters(client: Client, data: Path) -> None:
    """A grid, each point with three folds, and the best of it."""

    def fold(rate: int, depth: int, number: int) -> float:
        return prices(rate * 100 + depth * 10 + number, 120_000)

    scores = [
        [client.submit(fold, rate, depth, n) for n in range(3)]
        for rate in range(6)
        for depth in range(5)
    ]
    means = [client.submit(added, *folds) for folds in scores]
    max(client.gather(means))


def scattered_model(client: Client, data: Path) -> None:
    """A model that every worker needs, sent once, and used by each task."""
    [model] = client.scatter([list(range(200_000))], broadcast=True)

    def predicted(weights: list[int], number: int) -> int:
        return sum((w * number) % 7 for w in weights for _ in range(5))

    client.gather([client.submit(predicted, model, n) for n in range(60)])


def fetched_with_many_threads(client: Client, data: Path) -> None:
    client.gather(client.map(fetched, range(300), pure=False))


def fetched_and_worked_on(client: Client, data: Path) -> None:
    """Fetching and computing, side by side."""
    pieces = [dask.delayed(fetched)(n, 0.2) for n in range(40)]
    worked = [
        dask.delayed(lambda b, n: prices(len(b) + n))(p, n)
        for n, p in enumerate(pieces)
    ]
    dask.compute(*worked)


def held_and_reused(client: Client, data: Path) -> None:
    held = client.map(packed, range(40))
    wait(held)
    lengths = client.gather(client.map(len, held))
    assert len(lengths) == 40
    client.gather(client.map(lambda b: zlib.crc32(zlib.decompress(b)), held))


def counted_by_an_actor(client: Client, data: Path) -> None:
    """Tasks that report to one counter."""
    futures = client.map(prices, range(40))
    total: Any = client.submit(Total, actor=True).result()
    for future in as_completed(futures):
        total.add(future.result()).result()


class Total:
    """Adds up what it is reported."""

    def __init__(self) -> None:
        self.total = 0.0

    def add(self, number: float) -> float:
        self.total += number
        return self.total


def second_long(client: Client, data: Path) -> None:
    client.gather(client.map(prices, range(6)))


def one_task(client: Client, data: Path) -> None:
    client.submit(prices, 1).result()


def quick_sum(client: Client, data: Path) -> None:
    import dask.array as da

    da.ones((2_000, 2_000), chunks=1_000).sum().compute()


def quick_frame(client: Client, data: Path) -> None:
    frame = dask.datasets.timeseries(end="2000-01-03", freq="10s", seed=1)
    frame.x.mean().compute()


def several_stages(client: Client, data: Path) -> None:
    """Stage after stage, each a call of its own, as scripts are."""
    first = client.gather(client.map(prices, range(20)))
    second = client.gather(client.map(prices, [int(p) for p in first], pure=False))
    client.submit(added, *second).result()


def scaled_down(client: Client, data: Path) -> None:
    """Half of the work, then a worker is sent home, then the rest."""
    client.gather(client.map(prices, range(30)))
    client.retire_workers(workers=list(client.scheduler_info()["workers"])[:1])
    client.gather(client.map(prices, range(30, 45)))


TASKS: tuple[Any, ...] = (
    simulated, simulated_as_completed, searched_primes, tree_of_sums, pipeline,
    words_counted, paid_by_user, searched_parameters, scattered_model,
    fetched_with_many_threads, fetched_and_worked_on, held_and_reused,
    counted_by_an_actor, second_long, one_task, quick_sum, quick_frame,
    several_stages, scaled_down,
)  # fmt: skip
