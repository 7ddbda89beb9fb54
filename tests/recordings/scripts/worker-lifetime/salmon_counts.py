"""Fish-pass counts: camera silhouettes of the night -> salmon per river and hour.

One worker is rented from the batch queue for the job; it is renewed by the queue
settings of the group. The silhouette templates are sent there once, because they are
the same for every river.
"""

import argparse
import logging
import os
import subprocess
import sys
import tempfile
import time

import numpy as np
from dask.distributed import Client, CancelledError

log = logging.getLogger("salmon")

RIVERS = [
    "alder",
    "birch",
    "cray",
    "doon",
    "esk",
    "fyne",
    "garry",
    "hope",
    "isla",
    "jed",
    "kyle",
    "lyon",
    "moriston",
    "ness",
]
QUEUE = [
    "--nthreads",
    "2",
    "--memory-limit",
    "400MB",
    "--lifetime",
    "14s",
    "--lifetime-restart",
]


def start(what: str, *args: str) -> subprocess.Popen:
    return subprocess.Popen([sys.executable, "-m", "dask", what, *args])


def bring_up(rundir: str) -> tuple[list[subprocess.Popen], Client]:
    sfile = os.path.join(rundir, "scheduler.json")
    procs = [
        start(
            "scheduler",
            "--port",
            "0",
            "--dashboard-address",
            ":0",
            "--host",
            "127.0.0.1",
            "--scheduler-file",
            sfile,
        )
    ]
    while not os.path.exists(sfile):
        time.sleep(0.2)
    client = Client(scheduler_file=sfile, timeout=60)
    procs.append(
        start(
            "worker",
            "--scheduler-file",
            sfile,
            "--no-dashboard",
            "--local-directory",
            rundir,
            *QUEUE,
        )
    )
    client.wait_for_workers(1, timeout=90)
    return procs, client


def make_templates(n: int = 40, size: int = 48) -> np.ndarray:
    rng = np.random.default_rng(3)
    yy, xx = np.mgrid[-1 : 1 : size * 1j, -1 : 1 : size * 1j]
    return np.stack(
        [
            (np.hypot(xx / rng.uniform(0.5, 0.9), yy / rng.uniform(0.1, 0.3)) < 1) * 1.0
            for _ in range(n)
        ]
    )


def match_hour(templates: np.ndarray, river: str, hour: int) -> int:
    """Number of silhouettes of an hour that look like a salmon."""
    rng = np.random.default_rng(hour + 24 * RIVERS.index(river))
    frames = rng.random((60, templates.shape[1], templates.shape[2]))
    score = np.einsum("fij,tij->ft", frames, templates) / templates.sum(axis=(1, 2))
    time.sleep(0.5)
    return int((score.max(axis=1) > 0.53).sum())


def count_river(client: Client, templates, river: str, hours: range) -> list[int]:
    futs = [
        client.submit(match_hour, templates, river, h, key=f"match-{river}-{h:02d}")
        for h in hours
    ]
    return client.gather(futs)


def main() -> None:
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--hours", type=int, default=6)
    args = ap.parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    counts: dict[str, list[int]] = {}
    with tempfile.TemporaryDirectory(prefix="salmon-") as rundir:
        procs, client = bring_up(rundir)
        try:
            templates = client.scatter(make_templates())
            for river in RIVERS:
                try:
                    counts[river] = count_river(
                        client, templates, river, range(args.hours)
                    )
                    log.info("%s: %d fish", river, sum(counts[river]))
                except (Exception, CancelledError) as exc:
                    log.error("%s: no count (%s)", river, type(exc).__name__)
        finally:
            client.close()
            for p in reversed(procs):
                p.terminate()
                p.wait(30)
    absent = [r for r in RIVERS if r not in counts]
    print("river     fish")
    for river, hourly in counts.items():
        print(f"{river:<9} {sum(hourly):4d}")
    if absent:
        sys.exit(
            f"{len(absent)} of {len(RIVERS)} rivers have no counts: {', '.join(absent)}"
        )


if __name__ == "__main__":
    main()
