"""A fourth set held out: hangs of all kinds, workers that do not come, work called off.

Written by somebody who had read no rule and no other story.  What came out the first time
is written down in `heldout.json`, and stays.
"""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import NoReturn

import dask.bag as db
from distributed import (
    Client,
    Nanny,
    Scheduler,
    SpecCluster,
    as_completed,
    get_client,
    wait,
)
from staging import Stage, delayed
from staging import failure as any_failure
from starting import processes

failure = partial(any_failure, held_out="fourth: services")


class Index:
    """Words and where they stand; several threads may add to it."""

    def __init__(self, numbers: Iterable[int]) -> None:
        """Put numbers into it."""
        self.lock = threading.Lock()
        self.places = {str(number): number for number in numbers}


@failure(
    "dependency-not-serializable",
    names=["lock", "build_index|Index"],
    hang=True,
    bound=25,
    noise="other work, that ends",
)
def indexes_with_a_lock_are_merged(stage: Stage) -> None:
    def build_index(numbers: Iterable[int]) -> Index:
        time.sleep(0.5)
        return Index(numbers)

    def merge(indexes: Iterable[Index]) -> int:
        return sum(len(each.places) for each in indexes)

    with stage.local() as client:
        client.gather(client.map(abs, range(20)))
        numbers = db.range(400, npartitions=4)
        numbers.reduction(build_index, merge).compute()


@failure(
    "workers-never-arrived",
    "worker-start-failed",
    names=["name|duplicate", "etl-worker|1/2|1 of 2"],
    why="the second worker is turned away by the scheduler, so that it never arrives",
)
def two_replicas_are_given_the_same_name(stage: Stage) -> None:
    with (
        processes(1, "--name", "etl-worker") as cluster,
        Client(cluster.address) as client,
    ):
        client.wait_for_workers(1, timeout=40)
        with stage.recording(client):
            cluster.start_worker("--nthreads", "1", "--name", "etl-worker")
            client.wait_for_workers(2, timeout=15)


@failure(
    "no-valid-worker",
    names=["GPU", "train", "loader"],
    hang=True,
    settings={"blackbox.stall.end-run": "9s"},
    noise="each of the two wishes could be met, by different workers",
    accepted="an address, not the name that the user gave",
)
def the_named_worker_has_no_card(stage: Stage) -> None:
    def load(number: int) -> str:
        return "word " * number

    def train(text: str) -> int:
        return len(text)

    with processes(0) as cluster, Client(cluster.address) as client:
        cluster.start_worker("--nthreads", "1", "--name", "loader")
        cluster.start_worker(
            "--nthreads", "1", "--name", "card", "--resources", "GPU=1"
        )
        client.wait_for_workers(2, timeout=40)
        with stage.recording(client):
            texts = client.map(load, range(6), workers=["loader"])
            client.gather(
                client.map(train, texts, workers=["loader"], resources={"GPU": 1})
            )


@failure(
    "worker-start-failed",
    "driver-exception",
    names=["NotADirectoryError|Not a directory", "scratch"],
    how="command",
    why="the folder that workers are given cannot be made; the driver makes it for them",
)
def the_scratch_disk_is_not_mounted(stage: Stage) -> None:
    (stage.folder / "mnt").write_text("")
    with stage.local(local_directory=str(stage.folder / "mnt" / "scratch")) as client:
        client.gather(client.map(abs, range(8)))


@failure(
    "cluster-lost-worker",
    "no-valid-worker",
    names=["card|GPU"],
    hang=True,
    bound=28,
    settings={"distributed.deploy.lost-worker-timeout": "2s"},
    noise="the other worker lives, and may not take the work",
    why="the cluster dropped the only worker with a card: so none can take the work",
)
def the_only_worker_with_a_card_is_dropped(stage: Stage) -> None:
    slow = stage.folder / "warm_up.py"
    slow.write_text(
        "import time\n\ntime.sleep(5)  # large imports from a network disk\n"
    )
    marker = stage.folder / "died"

    def tile(number: int) -> int:
        time.sleep(0.2)
        if number == 3 and not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return number

    plain = {"nthreads": 1, "memory_limit": "1GiB"}
    with (
        SpecCluster(
            scheduler={
                "cls": Scheduler,
                "options": {"host": "127.0.0.1", "port": 0, "dashboard": False},
            },
            workers={
                "plain": {"cls": Nanny, "options": plain},
                "card": {
                    "cls": Nanny,
                    "options": {
                        **plain,
                        "resources": {"GPU": 1},
                        "preload": [str(slow)],
                    },
                },
            },
        ) as cluster,
        Client(cluster) as client,
        stage.recording(client),
    ):
        for _ in as_completed(client.map(tile, range(12), resources={"GPU": 1})):
            pass


@failure("nested-client-deadlock", names=["tile_statistics"], hang=True, bound=25)
def tasks_use_an_executor_of_their_own_cluster(stage: Stage) -> None:
    def square(number: int) -> int:
        return number * number

    def tile_statistics(size: int) -> int:
        with get_client().get_executor() as pool:
            return sum(pool.map(square, range(size)))

    with stage.started(2) as (client, _):
        sizes = [delayed(tile_statistics)(size) for size in (3, 4, 5)]
        client.compute(delayed(max)(sizes)).result()


@failure("stalled", names=["train_part"], hang=True, bound=25)
def a_rendezvous_needs_three_threads_where_two_are(stage: Stage) -> None:
    def track(listener: socket.socket) -> None:
        ranks = [listener.accept()[0] for _ in range(3)]
        for rank in ranks:
            rank.sendall(b"go")

    def train_part(port: int, rank: int) -> int:
        with socket.create_connection(("127.0.0.1", port)) as tracker:
            tracker.recv(2)
        return rank

    with stage.local() as client, socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=track, args=(listener,), daemon=True).start()
        port = listener.getsockname()[1]
        client.gather([client.submit(train_part, port, rank) for rank in range(3)])


class TaskTimeout(BaseException):
    """What a host raises in a driver whose time is over."""


@failure(
    "stalled",
    names=["append_month"],
    hang=True,
    how="command",
    noise="the host's execution timeout ends the wait",
)
def a_file_is_locked_by_the_driver_itself(stage: Stage) -> None:
    def over(number: int, frame: object) -> NoReturn:
        raise TaskTimeout("Timeout, PID: 4711")

    def append_month(path: Path, month: int) -> int:
        with path.open("r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(month * 8)
            return file.write(month.to_bytes(8))

    path = stage.folder / "climate.h5"
    path.write_bytes(bytes(96))
    signal.signal(signal.SIGALRM, over)
    with stage.local() as client, path.open("r+b") as opened:
        fcntl.flock(opened, fcntl.LOCK_EX)
        signal.alarm(14)
        client.gather(client.map(partial(append_month, path), range(12)))


@failure(
    "stalled",
    names=["failures_fourth_hangs|wait"],
    hang=True,
    bound=25,
    noise="all tasks have ended: it is the driver that waits",
    accepted="it was ended from outside",
)
def the_driver_waits_for_a_program_that_never_ends(stage: Stage) -> None:
    log = stage.folder / "upload.log"
    log.touch()

    def render(page: int) -> str:
        return f"<p>{page}</p>"

    with stage.local() as client:
        pages = client.gather(client.map(render, range(12)))
        (stage.folder / "report.html").write_text("".join(pages))
        with subprocess.Popen(["tail", "-f", str(log)]) as upload:
            upload.wait()


@failure(
    "cancelled",
    names=["simulate"],
    noise="the first result was good enough",
)
def an_executor_is_shut_down_before_its_results_are_read(stage: Stage) -> None:
    def simulate(seed: int) -> int:
        time.sleep(1.5)
        return seed

    with stage.local() as client:
        pool = client.get_executor()
        runs = [pool.submit(simulate, seed) for seed in range(12)]
        print("best so far", runs[0].result())
        pool.shutdown(wait=False)
        print(sum(run.result() for run in runs))


@failure(
    "driver-exception",
    "unknown",
    names=["timed out|timeout|gave up|6 s"],
    why="tasks succeeded all the time; the driver's timeout was too short",
)
def a_deadline_shorter_than_the_work(stage: Stage) -> None:
    def grid_cell(number: int) -> int:
        time.sleep(1)
        return number

    with stage.local() as client:
        futures = client.map(grid_cell, range(30))
        wait(futures, timeout=6)
        client.gather(futures)
