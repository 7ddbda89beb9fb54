"""Workers that exceed their memory limit, or that the kernel kills for memory."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import dask
import dask.bag as db
import dask.dataframe as dd
import numpy as np
import pandas as pd
from containers import container
from distributed import as_completed, get_worker, wait, worker_client
from failures.shared_parts import allocate, grow, worker_pids_of
from staging import NotHere, Stage, delayed, failure


def _group(stage: Stage, mebibytes: int) -> Path:
    """A memory cgroup of our own (version 1)."""
    root = Path("/sys/fs/cgroup/memory")
    group = root / f"case-{stage.name}"
    try:
        group.mkdir()
        (group / "memory.limit_in_bytes").write_text(str(mebibytes << 20))
    except OSError as error:
        raise NotHere(f"no memory cgroup can be made: {error}") from None
    return group


def _in_group(group: Path) -> str:
    return f"echo $$ > {group}/cgroup.procs"


@failure("kernel-oom", names="load_all", allowed=0)
def a_container_that_is_smaller_than_the_limit(stage: Stage) -> None:
    def load_all(mebibytes: int) -> int:
        return allocate(mebibytes, 1.5)

    group = _group(stage, 450)
    options = ["--memory-limit", "2GiB", "--nthreads", "1"]
    with stage.started(1, *options, shell=_in_group(group)) as (client, _):
        client.submit(load_all, 900).result()


@failure("kernel-oom", names="stitch", allowed=1, noise="healthy work before")
def the_kernel_takes_workers_without_a_limit(stage: Stage) -> None:
    @delayed
    def stitch(number: int) -> int:
        time.sleep(0.2)
        return allocate(900 if number == 7 else 10, 1.0)

    group = _group(stage, 600)
    with stage.started(2, "--memory-limit", "0", shell=_in_group(group)) as (client, _):
        client.gather(client.map(abs, range(40)))
        dask.compute(*[stitch(n) for n in range(9)])


@failure("kernel-oom", allowed=0)
def a_batch_job_of_workers_meets_its_limit(stage: Stage) -> None:
    def embed(block: Any) -> Any:
        allocate(800, 1.0)
        return block

    import dask.array as da

    group = _group(stage, 550)
    options = ["--memory-limit", "4GiB", "--nworkers", "2"]
    with stage.started(1, *options, shell=_in_group(group)):
        x = da.ones((8, 8), chunks=(4, 8))
        x.map_blocks(embed, dtype=float, meta=x._meta).sum().compute()


_CGROUPS = Path("/sys/fs/cgroup/memory")


@failure("kernel-oom", names=["read_cube"], allowed=0, held_out="second")
def a_container_is_smaller_than_the_limit(stage: Stage) -> None:
    def read_cube(number: int) -> int:
        return len(grow(900))

    group = _CGROUPS / f"case-{os.getpid()}"
    with stage.started(1, "--memory-limit", "4GiB") as (client, _):
        try:
            group.mkdir()
            (group / "memory.limit_in_bytes").write_text(str(400 * 2**20))
            pid = next(iter(client.run(os.getpid).values()))
            (group / "cgroup.procs").write_text(str(pid))
        except OSError as error:
            raise NotHere(f"memory cgroups of version 1: {error}") from error
        try:
            client.submit(read_cube, 1).result()
        finally:
            with suppress(OSError):
                group.rmdir()


_MEGABYTE = 1_000_000


def render(tile: int) -> float:
    """Draw a tile, layer by layer."""
    layers = []
    for layer in range(60):
        layers.append(np.full(3 * _MEGABYTE, float(layer + tile)))
        time.sleep(0.05)
    return float(sum(each[0] for each in layers))


@failure(
    "kernel-oom",
    names=["render", "OOM|kernel|cgroup|container"],
    allowed=1,
    noise="two workers of one nanny command in one pod",
    held_out="third: deaths",
)
def a_pod_is_smaller_than_its_two_workers_believe(stage: Stage) -> None:
    options = ["--nworkers", "2", "--memory-limit", "2GiB"]
    with (
        container("1100M") as pod,
        stage.started(1, shell=pod.shell) as (client, hosts),
    ):
        client.gather(client.map(abs, range(50)))  # the first worker was a small one
        hosts.start_worker("--nthreads", "1", *options, shell=pod.shell)
        client.wait_for_workers(3, timeout=40)
        client.gather(client.map(render, range(6)))


@failure(
    "kernel-oom",
    names=["correlate", "OOM|kernel|cgroup|container"],
    allowed=0,
    noise="an exception that was caught before",
    held_out="third: deaths",
)
def no_limit_is_set_in_a_small_container(stage: Stage) -> None:
    def parse(line: str) -> float:
        return float(line)

    def correlate(numbers: list[float]) -> float:
        wide = np.random.default_rng(1).random((9_000, 9_000))
        related: Any = np.corrcoef(wide)
        return float(related[0, 0]) + sum(numbers)

    options = ["--memory-limit", "0"]
    with (
        container("1G") as pod,
        stage.started(2, *options, shell=pod.shell) as (client, _),
    ):
        lines = ["1", "2", "n/a"]
        try:
            client.gather(client.map(parse, lines))
        except ValueError:
            lines = lines[:2]
        numbers = [delayed(parse)(line) for line in lines]
        client.compute(delayed(correlate)(numbers)).result()


@failure("worker-memory-limit", names=["read_everything", "400 MiB"], allowed=1)
def one_task_reads_everything(stage: Stage) -> None:
    @delayed
    def read_everything(number: int) -> int:
        return allocate(600 if number == 3 else 5)

    @delayed
    def total(parts: list[int]) -> int:
        return sum(parts)

    with stage.local(2, memory_limit="400MiB"):
        total([read_everything(n) for n in range(10)]).compute()


@failure("worker-memory-limit", names=["explode|groupby|apply"], allowed=0)
def a_groupby_apply_explodes(stage: Stage) -> None:
    import dask.dataframe as dd
    import numpy as np
    import pandas as pd

    def explode(group: pd.DataFrame) -> pd.DataFrame:
        chance, held = np.random.default_rng(1), []
        for _ in range(40):
            held.append(pd.DataFrame(chance.random((300_000, 8))))
            time.sleep(0.05)
        return pd.concat(held).head(1)

    frame = pd.DataFrame({"key": ["a", "b"] * 500, "value": 1.0})
    with stage.started(2, "--memory-limit", "500MiB"):
        frame_of_many = dd.from_pandas(frame, npartitions=4)
        meta = pd.DataFrame(np.zeros((0, 8)))
        frame_of_many.map_partitions(explode, meta=meta).compute()


@failure(
    "worker-memory-limit",
    names="fit",
    allowed=2,
    noise="handled exceptions, retried tasks, innocents",
)
def heavy_tasks_share_a_worker(stage: Stage) -> None:
    def fit(depth: int) -> int:
        return allocate(40 * depth, 2.0)

    def flaky(folder: str, number: int) -> int:
        mark = Path(folder, f"flaky-{number}")
        if not mark.exists():
            mark.touch()
            raise ConnectionError("try again")
        time.sleep(0.05)
        return number

    with stage.local(2, threads_per_worker=3, memory_limit="700MiB") as client:
        wait(client.submit(divmod, 1, 0))
        small = client.map(flaky, [str(stage.folder)] * 30, range(30), retries=1)
        heavy = client.map(fit, [10, 11, 12, 13, 14, 15])
        client.gather([*small, *heavy])


@failure("worker-memory-limit", names="append", how="command", allowed=1)
def a_cache_that_only_grows(stage: Stage) -> None:
    def append(number: int) -> int:
        import builtins

        cache: list[bytes] = builtins.__dict__.setdefault("cache", [])
        cache.append(os.urandom(1024) * 1024 * 150)
        time.sleep(0.05)
        return len(cache)

    with stage.local(1, memory_limit="500MiB") as client:
        client.gather(client.map(append, range(200), pure=False))


@failure(
    "worker-memory-limit",
    names="merge_all",
    allowed=1,
    noise="a worker was killed before",
)
def a_memory_death_after_a_kill(stage: Stage) -> None:
    def merge_all(mebibytes: int) -> int:
        return allocate(mebibytes)

    with stage.local(2, memory_limit="400MiB") as client:
        futures = client.map(time.sleep, [0.1] * 40, pure=False)
        os.kill(worker_pids_of(client)[0], signal.SIGKILL)
        client.gather(futures)
        client.submit(merge_all, 700).result()


@failure(
    "worker-memory-limit",
    names=["explode|itemsize|bag", "MiB"],
    allowed=1,
    held_out="second",
)
def a_bag_is_folded_into_one_list(stage: Stage) -> None:
    def explode(number: int) -> list[bytes]:
        return grow(16)

    def itemsize(left: list[bytes], right: list[bytes]) -> list[bytes]:
        return [bytes(bytearray(each)) for each in (left + right) * 2]

    with stage.local(2, memory_limit="420MiB"):
        bag = db.from_sequence(range(16), npartitions=16).map(explode)
        len(bag.fold(itemsize, split_every=16).compute())


@failure(
    "worker-memory-limit",
    names=["decode_scene", "2 (tasks|threads)|decode_scene.*2|at once"],
    allowed=1,
    held_out="second",
)
def two_tasks_at_once_are_too_much(stage: Stage) -> None:
    def decode_scene(number: int) -> int:
        return len(grow(340))

    with stage.started(1, "--nthreads", "2", "--memory-limit", "560MiB") as (client, _):
        client.gather(client.map(decode_scene, range(4)))


@failure(
    "worker-memory-limit",
    "actor-lost",
    names="Index|grow|add",
    allowed=0,
    why="the actor is lost because its worker was ended at its memory limit",
    held_out="second",
)
def an_actor_keeps_everything(stage: Stage) -> None:
    class Index:
        def __init__(self) -> None:
            self.kept: list[Any] = []

        def add(self, mebibytes: int) -> int:
            self.kept.append(grow(mebibytes))
            return len(self.kept)

    with stage.local(2, memory_limit="420MiB") as client:
        index: Any = client.submit(Index, actor=True).result()
        for _ in range(8):
            index.add(60).result()


@failure(
    "worker-memory-limit",
    names=["compress_cube", "ConnectionError|retr"],
    noise="first attempts fail",
    allowed=1,
    held_out="second",
)
def a_retried_task_then_takes_too_much_memory(stage: Stage) -> None:
    def compress_cube(folder: str, number: int) -> int:
        tried = Path(folder) / f"tried-{number}"
        if not tried.exists():
            tried.touch()
            raise ConnectionError(f"cube {number} is locked")
        return len(grow(600 if number == 3 else 8))

    with stage.local(2, memory_limit="420MiB") as client:
        folder = str(stage.folder)
        made = [client.submit(compress_cube, folder, n, retries=3) for n in range(5)]
        client.gather(made)


def unfold(book: pd.DataFrame) -> pd.DataFrame:
    """Make a row of every level of an order book."""
    long: pd.DataFrame = book.loc[book.index.repeat(book["depth"])]
    return long.assign(level=long.groupby("day").cumcount(), side="bid")


@failure("worker-memory-limit", names="MiB", allowed=1, held_out="third: deaths")
def an_order_book_is_unfolded(stage: Stage) -> None:
    depth = [2_000] * 36 + [9_000_000] * 4  # the exchange changed its format
    book = pd.DataFrame({"day": range(40), "depth": depth, "price": 1.5})
    shape = unfold(book.head(0))
    with stage.local(2, memory_limit="500MiB"):
        frame = dd.from_pandas(book, npartitions=8).map_partitions(unfold, meta=shape)
        frame.groupby("day").level.max().compute()


@failure(
    "worker-memory-limit",
    names=["merge|join", "MiB"],
    allowed=1,
    settings={"dataframe.shuffle.method": "tasks"},
    held_out="third: deaths",
)
def one_customer_has_all_the_orders(stage: Stage) -> None:
    def orders(day: int) -> pd.DataFrame:
        customer = np.where(np.arange(3_000) % 50 == 0, day, 0)
        return pd.DataFrame({"customer": customer, "amount": 1.0})

    with stage.local(2, memory_limit="600MiB"):
        sold = dd.from_map(orders, range(4))
        returned = dd.from_map(orders, range(4, 8))
        both = sold.merge(returned, on="customer", suffixes=("", "_returned"))
        (both.amount - both.amount_returned).sum().compute()


def score(batch: int) -> float:
    """Score a batch; remember its features, as somebody thought would be faster."""
    worker = get_worker()
    seen: dict[int, Any] = worker.__dict__.setdefault("features", {})
    seen[batch] = np.ones((25, 250_000 // 2))
    time.sleep(0.3)
    return float(seen[batch][0].mean())


@failure(
    "worker-memory-limit",
    names=["score", "MiB"],
    allowed=0,
    settings={"distributed.worker.memory.pause": False},
    noise="dies late, at an innocent batch",
    held_out="third: deaths",
)
def features_are_remembered_for_ever(stage: Stage) -> None:
    with stage.local(2, memory_limit="700MiB") as client:
        for done in as_completed(client.map(score, range(90))):
            done.result()


def load_day(day: int) -> Any:
    """Load what the sensors said on one day."""
    return np.random.default_rng(day).random(5 * _MEGABYTE)


def consolidate(days: int) -> float:
    """Load all days by tasks of their own, and put them together here."""
    with worker_client() as inner:
        parts = inner.gather(inner.map(load_day, range(days)))
    return float(np.concatenate(parts).std())


@failure(
    "worker-memory-limit",
    names=["consolidate", "MiB"],
    allowed=1,
    held_out="third: deaths",
)
def a_task_gathers_what_its_tasks_have_loaded(stage: Stage) -> None:
    with stage.local(2, memory_limit="600MiB") as client:
        client.submit(consolidate, 30).result()


def load_embeddings(rows: int, dask_worker: Any) -> int:
    """Keep a table of embeddings on this worker, for the tasks that come."""
    dask_worker.embeddings = [np.ones((rows // 8, 512)) for _ in range(8)]
    return len(dask_worker.embeddings)


@failure(
    "worker-memory-limit",
    names="MiB|GiB",
    noise="no task at all at that time",
    held_out="third: deaths",
)
def a_table_is_loaded_on_all_workers_by_run(stage: Stage) -> None:
    with stage.local(2, memory_limit="500MiB") as client:
        client.gather(client.map(abs, range(20)))
        client.run(load_embeddings, 400_000)


def tokens(archive: int) -> Iterator[bytes]:
    """Yield tokens, each a copy of its own."""
    for number in range(400):
        yield bytes(bytearray(os.urandom(1_000) * 1_000)) + bytes([archive, number % 7])


@failure(
    "worker-memory-limit",
    names=["tokens|join_all|bag|list", "MiB"],
    allowed=2,
    noise="a worker is sent home meanwhile",
    held_out="third: deaths",
)
def a_bag_of_tokens_is_materialised(stage: Stage) -> None:
    def join_all(parts: Any) -> int:
        return len(b"".join(list(parts)))

    with stage.local(3, memory_limit="450MiB") as client:
        archives = db.from_sequence(range(4), npartitions=4)
        length = archives.map(tokens).flatten().reduction(join_all, sum)
        found = client.compute(length)
        client.retire_workers([list(client.scheduler_info()["workers"])[-1]])
        found.result()


@failure(
    "worker-memory-limit",
    names=["deduplicate", "MiB"],
    allowed=1,
    held_out="third: deaths",
)
def a_memory_death_of_a_script_of_many_steps(stage: Stage) -> None:
    def read(part: int) -> Any:
        return np.arange(200_000) + part * 1_000_000

    def clean(numbers: Any) -> Any:
        return numbers[numbers % 2 == 0]

    def deduplicate(parts: list[Any]) -> int:
        seen: set[str] = set()
        for part in parts:
            for copy in range(20):
                seen.update(f"{number:060d}/{copy}" for number in part)
        return len(seen)

    with stage.local(1, threads_per_worker=2, memory_limit="600MiB") as client:
        parts = [delayed(clean)(delayed(read)(part)) for part in range(12)]
        kept = client.persist(parts)
        wait(kept)
        client.compute(delayed(deduplicate)(list(kept))).result()
