"""The kill matrix: which process ends, how, on which cluster; and what the card must report.

    python tests/support/kill_matrix.py --all
    python tests/support/kill_matrix.py --only "scheduler" --times 5

prints expected and seen.  `test_kill_matrix.py` runs a part of it.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from kill_checks import Row, Seen
from kill_runs import kill_and_look
from scenario_runs import Home

__all__ = ["ROWS"]

_OWN = {
    "SIGKILL": ("worker-signalled", -9, None),
    "SIGSEGV": ("worker-segfault", -11, "chatter"),
    "SIGABRT": ("worker-abort", -6, "chatter"),
    "os._exit(0)": ("worker-exit", 0, None),
    "os._exit(3)": ("worker-exit", 3, None),
    "os._exit(255)": ("worker-exit", 255, None),
    "sys.exit(4)": ("worker-exit", 4, None),
    "memory limit": ("worker-memory-limit", -15, "hoard"),
}


def _tasks() -> list[Row]:
    """A task ends its own worker."""
    return [
        Row("task", how, cluster, "failed", slug, slug, code, stack=stack)
        for cluster in ("LocalCluster", "commands", "--no-nanny", "--nworkers",
                        "dask spec", "SpecCluster", "SubprocessCluster")
        for how, (slug, code, stack) in _OWN.items()
        if (cluster, how) != ("--no-nanny", "memory limit")
    ] + [
        Row("task", "unreadable", cluster, "failed", "module-not-shipped",
            "environment-mismatch", "any")
        for cluster in ("LocalCluster", "SpecCluster")
    ]  # fmt: skip


def _workers() -> list[Row]:
    """Somebody signals a worker's process, or it freezes."""
    rows = []
    for cluster in ("LocalCluster", "commands", "--nworkers", "dask spec",
                    "SpecCluster", "SubprocessCluster"):  # fmt: skip
        for how, code in (("SIGKILL", -9), ("SIGTERM", -15), ("SIGSTOP", -9)):
            slug = "worker-signalled"
            if how == "SIGSTOP":
                slug = "worker-heartbeat-timeout"
            rows.append(Row("worker", how, cluster, "failed", slug, slug, code))
    ways: tuple[tuple[str, str, int | None], ...] = (
        ("SIGKILL", "worker-signalled", -9),
        ("SIGSEGV", "worker-segfault", -11),
        # They leave at once, but their processes live on until their tasks are done.
        ("SIGTERM", "worker-preempted", None),
        ("SIGINT", "worker-preempted", None),
    )
    rows += [
        Row("worker", how, "--no-nanny", "failed", slug, slug, status)
        for how, slug, status in ways
    ]
    frozen = "worker-heartbeat-timeout"
    rows.append(Row("worker", "SIGSTOP", "--no-nanny", "failed", frozen, frozen))
    return rows


def _nannies() -> list[Row]:
    """The nanny goes, alone or with its worker, or is asked to exit."""
    rows = []
    for cluster in ("commands", "--nworkers", "dask spec", "SubprocessCluster"):
        lost, reported = "worker-host-lost", "worker-preempted"
        rows += [
            Row("nanny", "SIGKILL", cluster, "failed", lost, lost),
            Row("nanny and worker", "SIGKILL", cluster, "failed", lost, lost),
            Row("nanny", "SIGTERM", cluster, "failed", reported, reported, "any"),
        ]
    return rows


def _schedulers() -> list[Row]:
    """The scheduler goes, and the card says how."""
    lost = "scheduler-lost"
    return [
        Row("scheduler", "SIGKILL", "commands", "failed", lost, words="disappeared"),
        Row("scheduler", "SIGKILL", "--no-nanny", "failed", lost, words="disappeared"),
        Row("scheduler", "SIGKILL", "SubprocessCluster", "failed", lost,
            words="disappeared"),
        Row("scheduler", "SIGTERM", "commands", "failed", lost, words="SIGTERM"),
        Row("scheduler", "SIGTERM", "--no-nanny", "failed", lost, words="SIGTERM"),
        Row("scheduler", "SIGINT", "commands", "failed", lost, words="signal-2"),
        Row("scheduler", "idle timeout", "commands", "failed", lost, words="idle"),
        Row("scheduler", "client.shutdown", "commands", "failed", lost,
            words="a client shut it down"),
        Row("scheduler", "client.shutdown", "dask spec", "failed", lost,
            words="a client shut it down"),
    ]  # fmt: skip


def _drivers() -> list[Row]:
    """The driver goes; the recorder says so, and goes too."""
    rows = []
    for cluster in ("LocalCluster", "commands", "threads", "SubprocessCluster"):
        gone = "driver-killed"
        rows += [
            Row("driver", "SIGKILL", cluster, "aborted", gone, words="SIGKILL"),
            Row("driver's group", "SIGKILL", cluster, "aborted", gone,
                words="SIGKILL"),
            Row("driver", "SIGTERM", cluster, "aborted", gone, words="SIGTERM"),
            Row("driver", "SIGSEGV", cluster, "aborted", gone, words="SIGSEGV"),
            Row("driver", "an exception", cluster, "failed", "driver-exception"),
            Row("driver", "sys.exit(3)", cluster, "failed", "driver-exception"),
        ]  # fmt: skip
    return rows + [
        Row("task", how, "threads", "aborted", "driver-killed")
        for how in ("SIGKILL", "SIGSEGV", "os._exit(3)")
    ]


def _recorders() -> list[Row]:
    return [
        Row("recorder", "SIGKILL", "LocalCluster", "succeeded"),
        Row("recorder", "SIGKILL", "commands", "succeeded"),
        Row("recorder twice", "SIGKILL", "LocalCluster", "succeeded"),
        Row("recorder twice", "SIGKILL", "commands", "succeeded"),
        Row("everything", "SIGKILL", "LocalCluster", "lost", "driver-killed"),
        Row("everything", "SIGKILL", "commands", "lost", "driver-killed"),
    ]


def _peace() -> list[Row]:
    """What is no death."""
    ways = {
        "finish": ("LocalCluster", "commands", "--no-nanny", "--nworkers", "threads",
                   "dask spec", "SpecCluster", "SubprocessCluster"),
        "retire": ("LocalCluster", "commands", "--no-nanny"),
        "scale_down": ("LocalCluster", "SpecCluster", "SubprocessCluster"),
        "adapt": ("LocalCluster", "SpecCluster"),
        "restart": ("LocalCluster", "commands", "--nworkers"),
        "lifetime": ("LocalCluster --lifetime", "--lifetime"),
        "shutdown": ("LocalCluster", "commands", "--no-nanny"),
    }  # fmt: skip
    return [
        Row("nobody", how, cluster, "succeeded")
        for how, clusters in ways.items()
        for cluster in clusters
    ]


ROWS: tuple[Row, ...] = (
    *_tasks(),
    *_workers(),
    *_nannies(),
    *_schedulers(),
    *_drivers(),
    *_recorders(),
    *_peace(),
)


def _fly(row: Row, *, keep: bool) -> bool:
    """Fly a row and print what was seen; return whether all is as it must be."""
    begun = time.monotonic()
    home = Home(Path(tempfile.mkdtemp(prefix="k")))
    try:
        seen = kill_and_look(row, home)
    except Exception as error:  # noqa: BLE001 - the others are to run too
        seen = Seen([f"{type(error).__name__}: {error}"])
        if not isinstance(error, AssertionError):
            seen.wrong.append(traceback.format_exc())
    home.clear()
    word, took = "WRONG" if seen.wrong else "right", time.monotonic() - begun
    lines = [f"{word}  {row}  ({took:.0f} s)", f"       {seen.facts}"]
    lines += [f"       !! {each}" for each in seen.wrong]
    if seen.wrong and keep:
        lines.append(f"       kept in {home.folder}")
    else:
        shutil.rmtree(home.folder, ignore_errors=True)
    print("\n".join(lines), flush=True)
    return not seen.wrong


def main() -> int:
    """Fly the rows that are asked for; return how many are not as they must be."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", action="store_true", help="fly every row")
    parser.add_argument("--only", nargs="*", default=[], help="rows with these words")
    parser.add_argument("--but", nargs="*", default=[], help="not those with these")
    parser.add_argument("--times", type=int, default=1, help="fly each so often")
    parser.add_argument("--at-once", type=int, default=1, help="so many at a time")
    parser.add_argument("--keep", action="store_true", help="keep what went wrong")
    options = parser.parse_args()
    if not options.all and not options.only:
        for row in ROWS:
            print(row)
        return 0
    chosen = [
        row
        for row in ROWS
        if all(word in str(row) for word in options.only)
        and not any(word in str(row) for word in options.but)
    ] * options.times
    random.shuffle(chosen)
    with ThreadPoolExecutor(options.at_once) as pool:
        right = sum(pool.map(lambda row: _fly(row, keep=options.keep), chosen))
    print(f"{right} as they must be, {len(chosen) - right} not")
    return len(chosen) - right


if __name__ == "__main__":
    sys.exit(min(main(), 100))
