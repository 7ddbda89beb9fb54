"""Buzzard surveys: counts breeding pairs from the notes of volunteers, square by square.

Starts its own scheduler and workers. Notes that cannot be read are expected every week and are put aside for the
coordinator; the processes are ended by signals when the table is there.
"""

import os
import random
import signal
import subprocess
import sys
import tempfile
import time

from distributed import Client, as_completed

SQUARES = [f"SK{number:02d}" for number in range(16)]


class Unreadable(Exception):
    pass


def note_of(square):
    rng = random.Random(square)
    if int(square[2:]) % 6 == 5:
        return "rain, nothing written"
    return " ".join(
        rng.choice(["pair", "single", "nest"]) for _ in range(rng.randrange(3, 12))
    )


def pairs_in(square):
    time.sleep(0.25)
    note = note_of(square)
    words = note.split()
    if "written" in words:
        raise Unreadable(f"{square}: {note!r}")
    return square, words.count("pair") + words.count("nest")


def launch(folder, *arguments):
    log = open(os.path.join(folder, "processes.log"), "a")
    return subprocess.Popen(
        [sys.executable, "-m", "dask", *arguments, "--no-dashboard"],
        stdout=log,
        stderr=log,
        start_new_session=True,
    )


def end(processes):
    """Workers first, then the scheduler; whoever does not listen is ended for good."""
    for process, number in processes:
        os.killpg(process.pid, number)
        try:
            process.wait(timeout=6)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def survey(client):
    table, aside = {}, []
    for future in as_completed(client.map(pairs_in, SQUARES)):
        try:
            square, pairs = future.result()
        except Unreadable as error:
            aside.append(str(error))
        else:
            table[square] = pairs
    return table, aside


def main():
    folder = tempfile.mkdtemp(prefix="buzzard-")
    where = os.path.join(folder, "scheduler.json")
    scheduler = launch(
        folder,
        "scheduler",
        "--host",
        "127.0.0.1",
        "--port",
        "0",
        "--scheduler-file",
        where,
    )
    workers = [
        launch(
            folder,
            "worker",
            "--scheduler-file",
            where,
            "--nthreads",
            "1",
            "--memory-limit",
            "400MB",
            "--local-directory",
            folder,
            "--name",
            name,
        )
        for name in ("hide-east", "hide-west")
    ]
    try:
        with Client(scheduler_file=where, timeout=25) as client:
            client.wait_for_workers(2, timeout=25)
            table, aside = survey(client)
    finally:
        end(
            [
                (workers[0], signal.SIGTERM),
                (workers[1], signal.SIGINT),
                (scheduler, signal.SIGTERM),
            ]
        )
    for square in sorted(table):
        print(f"{square} {table[square]:3d}")
    print(
        f"{sum(table.values())} pairs in {len(table)} squares, {len(aside)} notes put aside"
    )
    assert len(table) + len(aside) == len(SQUARES)
    return 0


if __name__ == "__main__":
    sys.exit(main())
