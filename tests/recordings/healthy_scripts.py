"""Healthy jobs as people write them: archives, searches, models, notebooks, long lives."""

from __future__ import annotations

import gc
import io
import logging
import random
import tarfile
import time
import warnings
import zlib
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import dask.bag as db
import numpy as np
import pandas as pd
from distributed import (
    Client,
    Lock,
    Queue,
    Variable,
    as_completed,
    fire_and_forget,
    wait,
    worker_client,
)
from healthy_tasks import make_texts, prices
from workload_list import COMMANDS, healthy, local

__all__ = ["make_archives"]

Block = Any


def make_archives(folder: Path) -> None:
    """Write archives of documents, and texts, once."""
    make_texts(folder)
    folder = folder / "archives"
    if (folder / "done").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    chance = random.Random(3)
    for n in range(16):
        with tarfile.open(folder / f"{n:02}.tar", "w") as archive:
            for page in range(30):
                document = chance.randbytes(120_000)
                info = tarfile.TarInfo(f"{n:02}{page:03}.pdf")
                info.size = len(document)
                archive.addfile(info, io.BytesIO(document))
    (folder / "done").touch()


def one(number: int) -> int:
    return number + 1


@healthy(set=2)
def one_by_one(client: Client, data: Path) -> None:
    for n in range(100):
        client.submit(one, n, pure=False).result()


@healthy(set=2, cluster=local(1, 1, "1GiB"))
def a_small_map(client: Client, data: Path) -> None:
    assert sum(client.gather(client.map(one, range(400), pure=False))) > 0


@healthy(set=2)
def chains_forgotten(client: Client, data: Path) -> None:
    """Arrays made, worked on twice, and let go as they come."""
    xs = client.map(np.random.default_rng, range(60))
    ys = client.map(lambda r: r.random(1_500_000), xs)
    zs = client.map(lambda y: float(np.sort(y)[1_000]), ys)
    done = as_completed(zs)
    del xs, ys, zs
    for future in done:
        assert future.result() >= 0


@healthy(set=2)
def strings_held_for_a_while(client: Client, data: Path) -> None:
    """Independent jobs, each with much memory for a moment."""

    def job(number: int) -> int:
        held = "x" * (200 * 2**20)
        prices(number, 100_000 + 20_000 * (number % 7))
        return len(held) and number

    dask.compute(dask.delayed(sum)([dask.delayed(job)(n) for n in range(40)]))


@healthy(set=2, needs=make_archives)
def archives_searched(client: Client, data: Path) -> None:
    def extract(path: Path) -> list[tuple[str, bool]]:
        found = []
        with tarfile.open(path) as archive:
            for member in archive.getmembers():
                file = archive.extractfile(member)
                assert file is not None
                found.append((member.name, b"xyz" in file.read().lower()))
        return found

    futures = client.map(extract, sorted((data / "archives").glob("*.tar")))
    wait(futures)
    rows = [row for part in client.gather(futures) for row in part]
    frame = pd.DataFrame(rows, columns=["name", "found"])
    frame["year"] = frame.name.str[:2].astype(int)
    frame.groupby("year")["found"].mean()


@healthy(set=2)
def searched_at_random(client: Client, data: Path) -> None:
    """Trials of a model with cross-validation, one a task, each of its own length."""

    def trial(number: int) -> float:
        chance = np.random.default_rng(number)
        x, depth = chance.random((4_000, 12)), int(chance.integers(2, 9))
        y = x @ np.arange(12) + chance.normal(size=4_000)
        scores = []
        for fold in range(3):
            kept = np.arange(len(x)) % 3 != fold
            for _ in range(depth * 6):
                w = np.linalg.lstsq(x[kept], y[kept], rcond=None)[0]
            scores.append(float(((x[~kept] @ w - y[~kept]) ** 2).mean()))
        return float(np.mean(scores))

    futures = [client.submit(trial, n, pure=False) for n in range(80)]
    wait(futures)
    min(client.gather(futures))


@healthy(set=2, libraries=("sklearn",))
def grid_search_by_joblib(client: Client, data: Path) -> None:
    import joblib
    from sklearn.datasets import make_classification
    from sklearn.model_selection import GridSearchCV
    from sklearn.tree import DecisionTreeClassifier

    x, y = make_classification(n_samples=6_000, n_features=30, random_state=0)
    grid = {"max_depth": [4, 6, 8, 10, 12], "min_samples_leaf": [1, 3, 5, 9]}
    with joblib.parallel_backend("dask"):
        GridSearchCV(DecisionTreeClassifier(), grid, cv=3).fit(x, y)


@healthy(set=2, libraries=("sklearn",))
def predicted_in_parallel(client: Client, data: Path) -> None:
    from sklearn.ensemble import RandomForestRegressor

    train = np.random.default_rng(0).random((800, 8))
    model = RandomForestRegressor(30, max_depth=7, n_jobs=1).fit(train, train.sum(1))
    x = da.random.random((400_000, 8), chunks=(20_000, 8))
    x.map_blocks(model.predict, drop_axis=1, dtype=float).mean().compute()


@healthy(set=2, libraries=("sklearn",))
def learnt_piece_by_piece(client: Client, data: Path) -> None:
    """One model that sees chunk after chunk: a chain, beside the making of chunks."""
    from sklearn.linear_model import SGDRegressor

    def learnt(model: Any, x: Block) -> Any:
        for _ in range(3):
            model = model.partial_fit(x[:, :-1], x[:, -1])
        return model

    model: Any = dask.delayed(SGDRegressor)()
    for n in range(20):
        x = dask.delayed(lambda n: np.random.default_rng(n).random((60_000, 12)))(n)
        model = dask.delayed(learnt)(model, x)
    model.compute()


@healthy(set=2, needs=make_archives, libraries=("sklearn",))
def vectors_of_texts(client: Client, data: Path) -> None:
    from sklearn.feature_extraction.text import HashingVectorizer

    lines = db.read_text(str(data / "texts" / "*.txt"), files_per_partition=1)
    vectors = lines.map_partitions(
        lambda part: [HashingVectorizer(n_features=2**14).transform(list(part)).sum()]
    )
    vectors.sum().compute()


@healthy(set=2, libraries=("xgboost",))
def trees_boosted(client: Client, data: Path) -> None:
    from xgboost import dask as boosting

    x = da.random.random((120_000, 12), chunks=(15_000, 12))
    y = (x.sum(axis=1) > 6).astype("int8")
    matrix = boosting.DaskDMatrix(client, x, y)
    settings = {"objective": "binary:logistic", "tree_method": "hist", "nthread": 1}
    boosting.train(client, settings, matrix, num_boost_round=40)


@healthy(set=2, libraries=("dask_ml",))
def nearest_means(client: Client, data: Path) -> None:
    from dask_ml.cluster import KMeans

    x = da.random.random((150_000, 6), chunks=(15_000, 6))
    KMeans(n_clusters=5, init="random", max_iter=6, random_state=1).fit(x)


@healthy(set=2, cluster=local(3))
def evolving(client: Client, data: Path) -> None:
    """What comes back decides what is asked next."""
    done, best = as_completed(client.map(prices, range(10))), 0.0
    for number, future in enumerate(done):
        best = max(best, future.result())
        if number < 60:
            done.add(client.submit(prices, number * 7 + 1, 120_000))
    assert best > 0


@healthy(set=2, cluster=local(2, 1, 0))
def coordinated(client: Client, data: Path) -> None:
    """Locks, queues and variables among tasks."""

    def guarded(number: int) -> int:
        value = prices(number, 150_000)
        with Lock("one at a time"):
            Queue("found").put(number)
        return int(value)

    Variable("goal").set(40)
    wait(client.map(guarded, range(40)))
    assert Queue("found").qsize() == 40


@healthy(set=2)
def uneven_but_many(client: Client, data: Path) -> None:
    """Lengths as the log-normal law has them, none of them a calamity."""
    lengths = np.random.default_rng(42).lognormal(0, 0.8, 150)
    steps = [int(60_000 * min(length, 6)) for length in lengths]
    client.gather(
        client.compute([dask.delayed(prices)(1, s, pure=False) for s in steps])
    )


@healthy(set=2)
def small_over_one_root(client: Client, data: Path) -> None:
    """Many want one mebibyte that lies on one worker."""
    root = dask.delayed(lambda n: "x" * n)(2**20)
    client.gather(
        client.compute(
            [dask.delayed(lambda *_: prices(3, 15_000))(root, n) for n in range(400)]
        )
    )


@healthy(set=2, alone=True)
def scaled_up(client: Client, data: Path) -> None:
    cluster: Any = client.cluster
    futures = client.map(prices, range(70))
    cluster.scale(3)
    client.gather(futures)
    cluster.scale(2)


@healthy(set=2, alone=True)
def adapted(client: Client, data: Path) -> None:
    """Workers come and go with the work."""
    cluster: Any = client.cluster
    cluster.adapt(minimum=1, maximum=3, interval="500ms", wait_count=2)
    for n in range(3):
        client.gather(client.map(prices, range(n * 100, n * 100 + 24)))
        time.sleep(2)  # the next batch is not there yet
    cluster.adapt(minimum=2, maximum=2)


@healthy(set=2, alone=True)
def restarted_between(client: Client, data: Path) -> None:
    client.gather(client.map(prices, range(12)))
    client.restart()
    client.gather(client.map(prices, range(12, 24)))
    client.restart_workers(list(client.scheduler_info(n_workers=-1)["workers"])[:1])
    client.gather(client.map(prices, range(24, 36)))


@healthy(set=2, cluster=local(1, 2, "3GiB"))
def notebook(client: Client, data: Path) -> None:
    """Cells, with a moment's thought between them."""
    for n in range(6):
        dask.compute(*[dask.delayed(prices)(n * 20 + i) for i in range(16)])
        time.sleep(1.5)  # somebody looks at it


@healthy(set=2)
def overnight_driver(client: Client, data: Path) -> None:
    """Half of the work is the driver's own: files, checks, a report; short together."""
    for n in range(3):
        dask.compute(*[dask.delayed(prices)(n * 20 + i) for i in range(24)])
        prices(n, 2_000_000)


@healthy(set=2)
def talkative_tasks(client: Client, data: Path) -> None:
    """Ten thousand lines of log, as libraries write them."""

    def reported(number: int) -> float:
        log = logging.getLogger("shop.orders")
        for n in range(250):
            log.warning(
                "order %s of batch %s has no address, using the default", n, number
            )
            print("looked at", n)
        return prices(number, 120_000)

    client.gather(client.map(reported, range(40)))


@healthy(set=2)
def warned_tasks(client: Client, data: Path) -> None:
    def warned(number: int) -> float:
        warnings.warn(f"batch {number} is deprecated", FutureWarning, stacklevel=1)
        with np.errstate(all="warn"):
            np.log(np.zeros(10))
        return prices(number)

    client.gather(client.map(warned, range(40)))


@healthy(set=2, may=("gc-time",))  # 77 % of its CPU time, without Dask too
def objects_collected(client: Client, data: Path) -> None:
    """Records as dicts, as JSON gives them: some work for the collector, as always."""

    def records(number: int) -> int:
        rows: list[dict[str, Any]] = [
            {"n": n, "name": f"user {n}", "tags": [n, n + 1]} for n in range(60_000)
        ]
        total = sum(row["n"] * len(row["tags"]) for row in rows for _ in range(6))
        gc.collect()
        return int(total)

    client.gather(client.map(records, range(50), pure=False))


@healthy(set=2, cluster=COMMANDS)
def long_imports(client: Client, data: Path) -> None:
    """The first task of each worker imports for seconds."""

    def scored(number: int) -> float:
        import sys

        if "slow_library" not in sys.modules:
            prices(0, 3_000_000)  # what its import costs
            sys.modules["slow_library"] = sys
        return prices(number, 150_000)

    client.gather(client.map(scored, range(60)))


@healthy(set=2)
def asked_from_tasks(client: Client, data: Path) -> None:
    """Tasks that send tasks."""

    def outer(number: int) -> float:
        with worker_client() as inner:
            return float(
                sum(inner.gather(inner.map(prices, range(number, number + 6))))
            )

    client.gather(client.map(outer, [n * 10 for n in range(10)]))


@healthy(set=2)
def written_and_forgotten(client: Client, data: Path) -> None:
    folder = data / "out-forgotten"
    folder.mkdir()

    def write(number: int) -> None:
        held = np.random.default_rng(number).bytes(2_000_000)
        (folder / f"{number}").write_bytes(zlib.compress(held, 6))

    for n in range(30):
        fire_and_forget(client.submit(write, n))
    deadline = time.monotonic() + 120
    while len(list(folder.iterdir())) < 30 and time.monotonic() < deadline:
        time.sleep(0.1)


@healthy(set=2)
def retries_never_needed(client: Client, data: Path) -> None:
    client.gather(client.map(prices, range(40), retries=5))


@healthy(set=2)
def held_by_name(client: Client, data: Path) -> None:
    """Futures are published, found by another client, and taken back."""
    held = client.map(prices, range(30))
    client.publish_dataset(shared=held)
    address: Any = client.scheduler
    with Client(address.address, set_as_default=False) as other:
        shared: Any = other.get_dataset("shared")
        assert sum(other.gather(shared)) > 0
    client.unpublish_dataset("shared")


@healthy(set=2, needs=make_archives)
def folded_words(client: Client, data: Path) -> None:
    lines = db.read_text(str(data / "texts" / "*.txt"), blocksize="300 kB")
    words = lines.map(str.split).flatten().filter(lambda word: word.endswith("7"))
    dict(words.foldby(len, lambda n, _: n + 1, 0, lambda a, b: a + b, 0).compute())
