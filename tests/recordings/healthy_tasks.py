"""Healthy jobs of single tasks: delayed, futures, bags; simulations, searches, fetching."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import random
import re
import subprocess
import sys
import time
import zlib
from collections import Counter
from concurrent.futures import CancelledError
from pathlib import Path
from typing import Any

import dask
import dask.bag as db
import numpy as np
from distributed import Client, Semaphore, as_completed, wait
from distributed import TimeoutError as LateError
from workload_list import COMMANDS, IN_PROCESS, WITHOUT_NANNIES, healthy, local

__all__ = ["make_texts"]

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


@healthy(set=1, cluster=COMMANDS)
def simulated(client: Client, data: Path) -> None:
    client.gather(client.map(prices, range(60)))


@healthy(set=1)
def simulated_as_completed(client: Client, data: Path) -> None:
    """Keep submitting until enough is known."""
    done = as_completed(client.map(prices, range(12)))
    for count, future in enumerate(done):
        future.result()
        if count < 50:
            done.add(client.submit(prices, 1_000 + count))


@healthy(set=1)
def searched_primes(client: Client, data: Path) -> None:
    parts = client.map(primes, range(10**7, 10**7 + 60 * 6_000, 6_000))
    client.submit(added, *[client.submit(int, p, pure=False) for p in parts]).result()


@healthy(set=1)
def tree_of_sums(client: Client, data: Path) -> None:
    level = [dask.delayed(prices)(n, 120_000) for n in range(64)]
    while len(level) > 1:
        level = [
            dask.delayed(added)(*level[n : n + 4]) for n in range(0, len(level), 4)
        ]
    level[0].compute()


@healthy(set=1)
def pipeline(client: Client, data: Path) -> None:
    """Make, check and count, each step a task."""
    made = [dask.delayed(packed)(n) for n in range(60)]
    checked = [dask.delayed(zlib.decompress)(each) for each in made]
    counted = [dask.delayed(zlib.adler32)(each) for each in checked]
    dask.compute(*counted)


@healthy(set=1, cluster=WITHOUT_NANNIES, needs=make_texts)
def words_counted(client: Client, data: Path) -> None:
    lines = db.read_text(str(data / "texts" / "*.txt"))
    lines.str.split().flatten().frequencies().topk(20, key=1).compute()


@healthy(set=1, cluster=local(3), needs=make_texts)
def paid_by_user(client: Client, data: Path) -> None:
    records = db.read_text(str(data / "texts" / "*.jsonl")).map(json.loads)
    big = records.filter(lambda record: record["paid"] > 10)
    big.foldby(
        "user", lambda total, record: total + record["paid"], 0.0, added, 0.0
    ).compute()


@healthy(set=1, cluster=WITHOUT_NANNIES)
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


@healthy(set=1)
def scattered_model(client: Client, data: Path) -> None:
    """A model that every worker needs, sent once, and used by each task."""
    [model] = client.scatter([list(range(200_000))], broadcast=True)

    def predicted(weights: list[int], number: int) -> int:
        return sum((w * number) % 7 for w in weights for _ in range(5))

    client.gather([client.submit(predicted, model, n) for n in range(60)])


@healthy(set=1, cluster=local(1, 16))
def fetched_with_many_threads(client: Client, data: Path) -> None:
    client.gather(client.map(fetched, range(300), pure=False))


@healthy(set=1)
def fetched_and_worked_on(client: Client, data: Path) -> None:
    """Fetching and computing, side by side."""
    pieces = [dask.delayed(fetched)(n, 0.2) for n in range(40)]
    worked = [
        dask.delayed(lambda b, n: prices(len(b) + n))(p, n)
        for n, p in enumerate(pieces)
    ]
    dask.compute(*worked)


@healthy(set=1)
def held_and_reused(client: Client, data: Path) -> None:
    held = client.map(packed, range(40))
    wait(held)
    lengths = client.gather(client.map(len, held))
    assert len(lengths) == 40
    client.gather(client.map(lambda b: zlib.crc32(zlib.decompress(b)), held))


@healthy(set=1)
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


@healthy(set=1)
def second_long(client: Client, data: Path) -> None:
    client.gather(client.map(prices, range(6)))


@healthy(set=1, cluster=local(1))
def one_task(client: Client, data: Path) -> None:
    client.submit(prices, 1).result()


@healthy(set=1, cluster=IN_PROCESS)
def quick_sum(client: Client, data: Path) -> None:
    import dask.array as da

    da.ones((2_000, 2_000), chunks=1_000).sum().compute()


@healthy(set=1)
def quick_frame(client: Client, data: Path) -> None:
    frame = dask.datasets.timeseries(end="2000-01-03", freq="10s", seed=1)
    frame.x.mean().compute()


@healthy(set=1)
def several_stages(client: Client, data: Path) -> None:
    """Stage after stage, each a call of its own, as scripts are."""
    first = client.gather(client.map(prices, range(20)))
    second = client.gather(client.map(prices, [int(p) for p in first], pure=False))
    client.submit(added, *second).result()


@healthy(set=1)
def scaled_down(client: Client, data: Path) -> None:
    """Half of the work, then a worker is sent home, then the rest."""
    client.gather(client.map(prices, range(30)))
    client.retire_workers(workers=list(client.scheduler_info()["workers"])[:1])
    client.gather(client.map(prices, range(30, 45)))


@healthy(set=3, cluster=local(3))
def first_answer_wins(client: Client, data: Path) -> None:
    """Ten ways are tried; the first that finds something ends the others."""

    def tried(way: int) -> float:
        return prices(way, 150_000 * (1 + way))

    for goal in range(4):
        futures = client.map(tried, range(goal, goal + 10), pure=False)
        next(iter(as_completed(futures))).result()
        client.cancel(futures, reason="an answer was found", msg="enough")


@healthy(set=3)
def asked_twice_to_be_sure(client: Client, data: Path) -> None:
    """Speculation: what is late is asked a second time, the slower answer is let go."""
    for n in range(10):
        both = [client.submit(prices, n, 300_000, pure=False) for _ in range(2)]
        quick = next(iter(as_completed(both)))
        quick.result()
        client.cancel([each for each in both if each is not quick])


@healthy(set=3)
def asked_again_when_late(client: Client, data: Path) -> None:
    """A service that hangs at times: the driver gives up after a while and asks anew."""

    def answer(number: int, attempt: int) -> int:
        time.sleep(3.0 if number % 4 == 0 and attempt == 0 else 0.3)
        return int(prices(number, 100_000))

    for n in range(10):
        for attempt in range(5):
            future = client.submit(answer, n, attempt, pure=False)
            try:
                future.result(timeout=2)
            except (LateError, TimeoutError):
                future.cancel()
            else:
                break


@healthy(set=3, may=("retries-hid-errors",))
def a_service_that_fails_now_and_then(client: Client, data: Path) -> None:
    """Two of sixty calls fail once, and are retried, as is written."""
    folder = data / "out-calls"
    folder.mkdir()

    def called(number: int) -> float:
        mark = folder / str(number)
        if number in (11, 42) and not mark.exists():
            mark.touch()
            raise ConnectionResetError("peer has gone away")
        return prices(number, 100_000)

    client.gather(client.map(called, range(60), retries=3))


@healthy(set=3)
def errors_caught_inside(client: Client, data: Path) -> None:
    """Records that cannot be read are counted, not raised."""

    def read(number: int) -> Counter[str]:
        found: Counter[str] = Counter()
        for row in range(4_000):
            try:
                found["sum"] += int(f"{number}{row}" if row % 10 else f"n/a {row}")
            except ValueError as error:
                logging.getLogger("reader").debug("%s", error)
                found[type(error).__name__] += 1
        prices(number, 60_000)
        return found

    total: Counter[str] = sum(client.gather(client.map(read, range(60))), Counter())
    assert total["ValueError"] == 60 * 400


@healthy(set=3, may=("task-exception",))  # the driver counts on it
def errors_skipped_by_choice(client: Client, data: Path) -> None:
    """A survey: of some stations there is nothing, and that is known."""

    def station(number: int) -> float:
        if number % 16 == 3:
            raise FileNotFoundError(f"no data of station {number}")
        return prices(number, 120_000)

    answers = client.gather(client.map(station, range(64)), errors="skip")
    assert len(answers) == 60


@healthy(set=3, cluster=COMMANDS)
def words_of_trouble(client: Client, data: Path) -> None:
    """Lines that look like trouble, and are none."""

    def reported(number: int) -> float:
        log = logging.getLogger("warehouse.sync")
        for n in range(30):
            log.error("ERROR rate of batch %s: 0.0", number)
            log.warning("Killed %s stale sessions of yesterday", n)
            log.info("MemoryError handler installed; Segmentation fault test skipped")
            print("distributed.worker - WARNING - this is a line of a test file")
            print("Traceback (most recent call last): none. exit code 137 is mapped")
            print("CommClosedError, KilledWorker: see the manual", file=sys.stderr)
        return prices(number, 100_000)

    client.gather(client.map(reported, range(48)))


@healthy(set=3)
def a_tool_called_by_each_task(client: Client, data: Path) -> None:
    """Another program does the work: the thread waits for it, and the core is busy."""
    program = "print(sum(n * n % 7 for n in range(1_500_000)))"

    def called(number: int) -> int:
        words = [sys.executable, "-c", program]
        done = subprocess.run(words, capture_output=True, text=True, check=True)
        return int(done.stdout) + number

    client.gather(client.map(called, range(60)))


@healthy(set=3, cluster=local(2, 8))
def a_slow_store_read_by_many(client: Client, data: Path) -> None:
    """Eight threads a worker are meant to wait."""

    def fetched(number: int) -> int:
        time.sleep(0.25 + number % 7 / 20)
        return zlib.crc32(os.urandom(200_000))

    client.gather(client.map(fetched, range(400)))


@healthy(set=3)
def at_most_two_at_the_database(client: Client, data: Path) -> None:
    """A semaphore keeps a database from too many; tasks work before and after."""

    def loaded(number: int, door: Semaphore) -> float:
        value = prices(number, 200_000)
        with door:
            time.sleep(0.05)
        return value

    door = Semaphore(max_leases=2, name="database")
    client.gather(client.map(loaded, range(50), door=door))


@healthy(set=3)
def until_precise_enough(client: Client, data: Path) -> None:
    """Monte Carlo by batches, until the error is small."""

    def batch(seed: int) -> tuple[float, float]:
        x = np.random.default_rng(seed).random((2, 1_500_000))
        hits = ((x**2).sum(axis=0) < 1).mean() * 4
        return float(hits), float(hits**2)

    seen: list[float] = []
    while len(seen) < 8 or (len(seen) < 80 and np.std(seen) > 1e-6):
        todo = client.map(batch, range(len(seen), len(seen) + 8))
        seen += [value for value, _ in client.gather(todo)]


@healthy(set=3)
def a_sweep_with_stages(client: Client, data: Path) -> None:
    """Prepare once, fit for each of the parameters, score each, and choose."""
    prepared = dask.delayed(prices)(0, 400_000)
    fitted = [
        dask.delayed(lambda base, n: prices(int(base) + n, 180_000))(prepared, n)
        for n in range(48)
    ]
    scored = [dask.delayed(lambda model: prices(int(model), 30_000))(f) for f in fitted]
    dask.delayed(max)(scored).compute()


@healthy(set=3, needs=make_texts)
def tokens_counted(client: Client, data: Path) -> None:
    word = re.compile(r"\w+\d")
    lines = db.read_text(str(data / "texts" / "*.txt"))
    pairs = lines.map(word.findall).map(Counter)
    pairs.fold(lambda a, b: a + b, initial=Counter()).compute()


@healthy(set=3, may=("io-bound",))  # one at a time on each thread
def coroutines_as_tasks(client: Client, data: Path) -> None:
    async def asked(number: int) -> int:
        await asyncio.sleep(0.3)
        return number

    answers = client.gather(client.map(asked, range(120)))
    client.gather(client.map(prices, answers[:30]))


@healthy(set=3)
def results_brought_home(client: Client, data: Path) -> None:
    """Forty pieces of eight megabytes are made, and the driver wants them all."""

    def piece(number: int) -> Any:
        return np.random.default_rng(number).random(1_000_000)

    for future, result in as_completed(client.map(piece, range(40)), with_results=True):
        assert result.size == 1_000_000
        future.release()


@healthy(set=3)
def inputs_sent_once(client: Client, data: Path) -> None:
    """A table of 120 MB is scattered, and asked by every task."""
    table = np.random.default_rng(4).random((1_000_000, 15))
    held = client.scatter(table, broadcast=True)

    def looked_up(table: Any, number: int) -> float:
        return float(np.sort(table[:, number % 15])[number])

    client.gather([client.submit(looked_up, held, n) for n in range(60)])


@healthy(set=3)
def urgent_things_first(client: Client, data: Path) -> None:
    """Annotations: priorities, and a few tasks that stay with one worker."""
    [first, *_] = client.scheduler_info(n_workers=-1)["workers"]
    late = client.map(prices, range(40), priority=-5)
    here = client.map(
        prices, range(100, 108), workers=[first], allow_other_workers=True
    )
    early = client.map(prices, range(200, 212), priority=10)
    wait([*early, *here])
    client.gather(late)


@healthy(set=3)
def let_go_while_it_runs(client: Client, data: Path) -> None:
    """A user changes his mind: futures are dropped, others are asked for."""
    for n in range(3):
        dropped = client.map(prices, range(n * 100, n * 100 + 30), pure=False)
        next(iter(as_completed(dropped))).result()
        del dropped
    done = client.map(prices, range(900, 920))
    try:
        client.gather(done)
    except CancelledError as error:  # pragma: no cover - nobody has cancelled these
        raise AssertionError("nobody has cancelled these") from error


@healthy(set=3)
def sent_to_workers_that_have_it(client: Client, data: Path) -> None:
    """All inputs lie on one worker: others come and take their share."""

    def piece(number: int) -> Any:
        return np.random.default_rng(number).random(200_000)

    [first, *_] = client.scheduler_info(n_workers=-1)["workers"]
    pieces = client.map(piece, range(40), workers=[first])
    wait(pieces)
    client.gather(client.map(lambda p: prices(int(p[0] * 1e6), 120_000), pieces))
