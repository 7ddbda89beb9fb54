"""Joins the dive tracks of satellite-tagged narwhals.

A tag reports each surfacing in a small file of its own. All reports of one animal are opened together and merged
by time, as they overlap.
"""

import heapq
import logging
import random
import resource
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from distributed import Client, wait

log = logging.getLogger("narwhal")

HOSTS = {
    "tag-1": {"threads": 2},
    "tag-2": {"threads": 2},
    "tag-3": {"threads": 2, "nofile": 90},
}
ANIMALS = [f"NW{n:03d}" for n in range(1, 19)]
REPORTS = 130


def merge_tracks(folder, animal):
    """Merge the reports of one animal by time; gives number of fixes and deepest dive."""
    with ExitStack() as stack:
        reports = [
            stack.enter_context(open(path))
            for path in sorted(Path(folder).glob(f"{animal}-*.txt"))
        ]
        fixes = deepest = 0
        last = ""
        for line in heapq.merge(*reports):
            moment, depth = line.split()
            if moment != last:
                fixes += 1
                deepest = max(deepest, int(depth))
            last = moment
    time.sleep(0.4)
    return animal, fixes, deepest


def season(tracks):
    return sorted(tracks, key=lambda t: -t[2])[:5]


def write_reports(folder):
    rng = random.Random(1911)
    for animal in ANIMALS:
        for n in range(REPORTS):
            start = rng.randrange(10_000)
            Path(folder, f"{animal}-{n:03d}.txt").write_text(
                "".join(f"{start + k:06d} {rng.randrange(5, 1500)}\n" for k in range(5))
            )


def launch(folder, name=None):
    where = str(folder / "scheduler.json")
    args = [sys.executable, "-m", "dask"]
    setup = None
    if name is None:
        args += [
            "scheduler",
            "--host",
            "127.0.0.1",
            "--port",
            "0",
            "--no-dashboard",
            "--scheduler-file",
            where,
        ]
    else:
        host = HOSTS[name]
        args += [
            "worker",
            "--scheduler-file",
            where,
            "--name",
            name,
            "--nthreads",
            str(host["threads"]),
            "--no-nanny",
            "--memory-limit",
            "400MB",
            "--no-dashboard",
            "--local-directory",
            str(folder / name),
        ]
        if "nofile" in host:
            hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]

            def setup():
                resource.setrlimit(resource.RLIMIT_NOFILE, (host["nofile"], hard))

    out = open(folder / f"{name or 'scheduler'}.log", "w")
    return subprocess.Popen(
        args, preexec_fn=setup, stdout=out, stderr=subprocess.STDOUT
    )


def main():
    logging.basicConfig(level=logging.INFO)
    with tempfile.TemporaryDirectory(
        prefix="narwhal-", ignore_cleanup_errors=True
    ) as name:
        folder = Path(name)
        (folder / "reports").mkdir()
        write_reports(folder / "reports")
        processes = [launch(folder)]
        try:
            while not (folder / "scheduler.json").exists():
                time.sleep(0.1)
            processes += [launch(folder, host) for host in HOSTS]
            with Client(
                scheduler_file=str(folder / "scheduler.json"), timeout=20
            ) as client:
                client.wait_for_workers(len(HOSTS), timeout=30)
                tracks = [
                    client.submit(
                        merge_tracks,
                        str(folder / "reports"),
                        a,
                        key=f"merge_tracks-{a}",
                    )
                    for a in ANIMALS
                ]
                wait(tracks)
                log.info(
                    "%d of %d animals joined",
                    sum(t.status == "finished" for t in tracks),
                    len(tracks),
                )
                for animal, fixes, deepest in client.submit(
                    season, tracks, key="season"
                ).result():
                    log.info("%s %d fixes, %d m", animal, fixes, deepest)
        finally:
            for process in reversed(processes):
                process.terminate()
            for process in processes:
                process.wait(10)


if __name__ == "__main__":
    main()
