"""What recording costs: the same work bare and recorded, in turn, on one cluster.

    python benchmarks/overhead.py [--pairs 20] [--tasks 2000] [--only "no-op tasks"]

Prints a Markdown table: medians, and the median of the ratios pair by pair with its 95 %
interval (bootstrap over the pairs).  CPU seconds are the operating system's own account of
each process; ratios hold on a noisy machine where single times do not.
"""

from __future__ import annotations

import argparse
import gc
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import psutil
from dask_blackbox import recording
from distributed import Client


def noop(x: int) -> int:
    """Do nothing: what is left is Dask's own work, and ours."""
    return x


def many_tasks(client: Client, tasks: int) -> None:
    """Run no-op tasks, in batches as a driver would."""
    for first in range(0, tasks, 5_000):
        numbers = range(first, min(tasks, first + 5_000))
        client.gather(client.map(noop, numbers, pure=False))


def short(x: int) -> int:
    """Take 10 ms."""
    time.sleep(0.01)
    return x


def short_tasks(client: Client, tasks: int) -> None:
    """Run tasks of 10 ms."""
    client.gather(client.map(short, range(tasks), pure=False))


def shuffle(client: Client, tasks: int) -> None:
    """Shuffle a timeseries by another column."""
    import dask

    frame = dask.datasets.timeseries("2024-01-01", "2025-01-01", freq="15s")
    frame.shuffle("id").id.nunique().compute()


def reduction(client: Client, tasks: int) -> None:
    """Reduce an array of nine hundred chunks."""
    import dask.array as da

    array = da.random.default_rng(1).random((24_000, 24_000), chunks=(800, 800))
    (array - array.mean(axis=0)).std().compute()


WORK: dict[str, Callable[[Client, int], None]] = {
    "no-op tasks": many_tasks,
    "tasks of 10 ms": short_tasks,
    "dataframe shuffle": shuffle,
    "array reduction": reduction,
}


@contextmanager
def cluster() -> Iterator[tuple[Client, psutil.Process]]:
    """A scheduler process and two worker processes of their own."""
    address = Path(tempfile.mkdtemp()) / "scheduler.json"
    dask = [sys.executable, "-m", "dask"]
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    local = ["--host", "127.0.0.1"]
    processes = [
        subprocess.Popen(  # noqa: S603
            [*dask, "scheduler", "--scheduler-file", str(address), "--port", "0",
             "--no-dashboard", *local], **quiet),
        subprocess.Popen(  # noqa: S603
            [*dask, "worker", "--scheduler-file", str(address), "--nworkers", "2",
             "--nthreads", "1", "--no-dashboard", *local], **quiet),
    ]  # fmt: skip
    try:
        with Client(scheduler_file=str(address), timeout=60) as client:
            client.wait_for_workers(2, timeout=60)
            many_tasks(client, 500)  # warm
            yield client, psutil.Process(processes[0].pid)
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait(30)
        shutil.rmtree(address.parent)


def measured(
    client: Client, scheduler: psutil.Process, name: str, tasks: int, store: str | None
) -> dict[str, float]:
    """Run one piece of work, bare or recorded; return its seconds and CPU seconds by process."""
    recorded = recording(client, store=store, job="bench") if store else nullcontext()
    pids = sorted(client.run(os.getpid).items())
    workers = {f"worker {n}": psutil.Process(pid) for n, (_, pid) in enumerate(pids, 1)}
    nanny = psutil.Process(workers["worker 1"].ppid())
    processes = workers | {
        "scheduler": scheduler,
        "nannies": nanny,
        "driver": psutil.Process(),
    }
    with recorded:
        WORK[name](client, tasks)  # what only beginnings cost falls on this one
        if store:
            [processes["recorder"]] = recorders()
        settle(client)
        inside = insides(client)
        begun = time.perf_counter()
        spent = {who: seconds(process) for who, process in processes.items()}
        WORK[name](client, tasks)
        figures = {"wall": time.perf_counter() - begun}
        settle(client)
        for who, process in processes.items():
            figures[f"CPU of {who}"] = seconds(process) - spent[who]
            figures[f"memory of {who}"] = process.memory_info().rss / 1e6
        figures["CPU of workers"] = sum(figures[f"CPU of {who}"] for who in workers)
        figures |= {what: now - inside[what] for what, now in insides(client).items()}
        return figures


def insides(client: Client) -> dict[str, float]:
    """Return what only the processes themselves know, so far."""
    ours, collections = zip(*client.run(inside_here).values(), strict=True)
    scheduler_ours, scheduler_collections = client.run_on_scheduler(inside_here)
    return {
        "CPU of dask-blackbox's threads on workers": sum(ours),
        "CPU of dask-blackbox's threads on the scheduler": scheduler_ours,
        "garbage collections on workers": sum(collections),
        "garbage collections on the scheduler": scheduler_collections,
    }


def inside_here() -> tuple[float, int]:
    """Return the CPU seconds of our threads, and how often garbage was collected."""
    ours = 0.0
    for thread in threading.enumerate():
        if thread.name.startswith("dask-blackbox"):
            path = Path(f"/proc/self/task/{thread.native_id}/schedstat")
            ours += int(path.read_text("ascii").split()[0]) / 1e9
    return ours, sum(each["collections"] for each in gc.get_stats())


def settle(client: Client) -> None:
    """Wait until the cluster has forgotten all tasks: that is work, too, and comes late."""
    while client.run_on_scheduler(tasks_left) or any(
        client.run(tasks_left_here).values()
    ):
        time.sleep(0.05)


def tasks_left(dask_scheduler: Any) -> int:
    """Return how many tasks the scheduler knows."""
    return len(dask_scheduler.tasks)


def tasks_left_here(dask_worker: Any) -> int:
    """Return how many tasks a worker knows."""
    return len(dask_worker.state.tasks)


def recorders() -> list[psutil.Process]:
    """Return the recorders that this process has started."""
    marks = ["dask_blackbox.recorder", str(os.getpid())]
    return [
        each
        for each in psutil.process_iter(["cmdline"])
        if (each.info["cmdline"] or [])[-2:] == marks
    ]


def interval(ratios: list[float], samples: int = 5_000) -> tuple[float, float]:
    """Return between what the median of ratios lies, with 95 % (bootstrap)."""
    dice = random.Random(1)
    medians = sorted(
        statistics.median(dice.choices(ratios, k=len(ratios))) for _ in range(samples)
    )
    return medians[round(0.025 * samples)], medians[round(0.975 * samples) - 1]


def seconds(*processes: psutil.Process) -> float:
    """Return the CPU seconds that processes have used so far."""
    return float(sum(sum(process.cpu_times()[:2]) for process in processes))


def pair_by_pair(
    name: str, pairs: int, tasks: int
) -> Iterator[tuple[dict[str, float], dict[str, float]]]:
    """Yield figures bare and recorded, made on one cluster, first the one, then the other.

    Processes differ from each other, on this machine by more than what is looked for:
    so pairs share theirs, and who comes first changes from pair to pair.
    """
    with cluster() as (client, scheduler), tempfile.TemporaryDirectory() as store:
        measured(client, scheduler, name, tasks, None)  # warm
        for number in range(pairs):
            order = [None, store] if number % 2 else [store, None]
            done = {
                where: measured(client, scheduler, name, tasks, where)
                for where in order
            }
            yield done[None], done[store]


def main() -> None:
    """Measure pairs, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--tasks", type=int, default=2_000)
    parser.add_argument("--only", choices=list(WORK))
    chosen = parser.parse_args()
    print(f"{chosen.pairs} pairs, load before {os.getloadavg()[0]:.1f}")
    print("| work | figure | bare | recorded | ratio (95 % interval) |")
    print("|---|---|---|---|---|")
    for name in [chosen.only] if chosen.only else list(WORK):
        done = list(pair_by_pair(name, chosen.pairs, chosen.tasks))
        for figure in sorted(done[0][1]):
            bare = [a[figure] for a, _ in done if figure in a]
            recorded = [b[figure] for _, b in done]
            row = f"{statistics.median(recorded):.4g} |"
            if bare and all(bare):
                ratios = [b / a for a, b in zip(bare, recorded, strict=True)]
                low, high = interval(ratios)
                row += f" {statistics.median(ratios):.3f} ({low:.3f} to {high:.3f}) |"
            else:
                row += " |"
            before = f"{statistics.median(bare):.4g}" if bare else ""
            print(f"| {name} | {figure} | {before} | {row}")
    print(f"load after {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
