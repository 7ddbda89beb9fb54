"""What recording costs where it hurts: jobs that print, name, raise or connect without measure.

    python benchmarks/hard_cases.py [--pairs 1] [--only lines] [--size 0.1] [--against PYTHON]

Each job runs bare and under `dask blackbox run`, in turn, and with `--against` the same with
another interpreter, where another version is installed.  The time of the work itself is taken
by the job; `end` is from there to the exit of the command.  Memory is the highest resident size
of each process, CPU that of all processes that the command starts.  Prints a Markdown table
of medians.  Linux only.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import json
import os
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

_ADOPT_ORPHANS = 36  # `PR_SET_CHILD_SUBREAPER`, from linux/prctl.h
_FILE_LIMIT = 200_000
"""Bytes of a file, where files have a limit: too few for the pages of a recording."""


def lines(client: Any, size: float) -> None:
    """Print 2,000,000 lines in 80 tasks."""

    def talk(task: int, count: int) -> int:
        for number in range(count):
            print(f"task {task}: {number} orders are done")
        return count

    client.gather(client.map(talk, range(80), count=int(25_000 * size), pure=False))


def clients(client: Any, size: float) -> None:
    """Connect 200 clients, one after the other, each with one task."""
    from distributed import Client

    for number in range(int(200 * size)):
        with Client(client.scheduler.address, set_as_default=False) as another:
            another.submit(str, number, pure=False).result()


def prefixes(client: Any, size: float) -> None:
    """Run 5,000 tasks of 5,000 prefixes."""
    names = [f"step_{_word(number)}" for number in range(int(5_000 * size))]
    client.gather([client.submit(str, name, key=f"{name}-0") for name in names])


def _word(number: int) -> str:
    return "".join(chr(97 + int(digit)) for digit in f"{number:05d}")


def keys(client: Any, size: float) -> None:
    """Run 2,000 tasks whose keys have 10 kB."""
    names = [f"load-{number}-{'x' * 10_000}" for number in range(int(2_000 * size))]
    client.gather([client.submit(len, name[:20], key=name) for name in names])


def exceptions(client: Any, size: float) -> None:
    """Run ten tasks that raise exceptions of 5 MB."""

    def fail(number: int, length: int) -> None:
        raise ValueError(f"row {number}: " + "0123456789" * (length // 10))

    length = int(5_000_000 * size)
    failing = client.map(fail, range(10), length=length, pure=False)
    client.gather(failing, errors="skip")


def short(client: Any, size: float) -> None:
    """Run 100 tasks of 10 ms on two threads: with its cluster, a job of two seconds."""

    def work(number: int) -> int:
        time.sleep(0.01)
        return number

    client.gather(client.map(work, range(int(100 * size)), pure=False))


JOBS: dict[str, Callable[[Any, float], None]] = {
    each.__name__: each for each in (lines, clients, prefixes, keys, exceptions, short)
}
CASES = {**{name: name for name in JOBS}, "file limit": "short"}
"""The job of each case."""


def job(name: str, size: float, reported: Path) -> None:
    """Be the command: do the work on a cluster of this process, and report what it took."""
    from distributed import Client, LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as own:
        with Client(own) as client:
            client.wait_for_workers(2)
            begun = time.perf_counter()
            JOBS[name](client, size)
            took = time.perf_counter() - begun
            client.run(_quiet)  # what was printed is on its way
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    facts = {"work": took, "ended": time.time(), "driver": memory / 1000}
    reported.write_text(json.dumps(facts), "utf-8")


def _quiet() -> None:
    sys.stdout.flush()


def measured(words: list[str], folder: Path, *, limit: bool) -> dict[str, float]:
    """Run a job by a command; return its figures."""
    reported = folder / "reported.json"
    reported.unlink(missing_ok=True)
    before, begun = _cpu_of_children(), time.perf_counter()
    with (folder / "output").open("wb") as output:
        command = subprocess.Popen(  # noqa: S603
            [*words, str(reported)],
            stdout=output,
            stderr=output,
            preexec_fn=_limit_files if limit else None,  # noqa: PLW1509
        )
        orphans = dict(_exits_until(command.pid))
        took = time.perf_counter() - begun
        ended = time.time()
        orphans.update(_orphans())
    command.returncode = 0
    if not reported.is_file():
        raise SystemExit((folder / "output").read_text("utf-8", "replace")[-3_000:])
    facts = json.loads(reported.read_text("utf-8"))
    figures = {
        "work, s": facts["work"],
        "all, s": took,
        "end, s": ended - facts["ended"],
        "driver, MB": facts["driver"],
        "CPU of all, s": _cpu_of_children() - before,
    }
    orphans.pop(command.pid, None)
    if orphans and "blackbox" in words:  # the recorder; a helper of Python's is none
        recorder = max(orphans.values(), key=_cpu)
        figures["recorder, MB"] = recorder.ru_maxrss / 1000
        figures["CPU of recorder, s"] = _cpu(recorder)
    return figures


def _exits_until(last: int) -> Iterator[tuple[int, resource.struct_rusage]]:
    pid = 0
    while pid != last:
        pid, _, used = os.wait4(-1, 0)
        yield pid, used


def _orphans() -> Iterator[tuple[int, resource.struct_rusage]]:
    """Yield what outlives the command, such as a recorder, when it has ended."""
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, _, used = os.wait4(-1, 0)
            yield pid, used


def _limit_files() -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (_FILE_LIMIT, _FILE_LIMIT))


def _cpu(used: resource.struct_rusage) -> float:
    return used.ru_utime + used.ru_stime


def _cpu_of_children() -> float:
    return _cpu(resource.getrusage(resource.RUSAGE_CHILDREN))


def measure(
    case: str, pythons: dict[str, str], chosen: argparse.Namespace, folder: Path
) -> dict[str, list[dict[str, float]]]:
    """Run a case bare and recorded, in turn; return the figures of each way."""
    done: dict[str, list[dict[str, float]]] = {}
    words = [__file__, "--job", CASES[case], "--size", str(chosen.size), "--report"]
    for _ in range(chosen.pairs):
        bare = measured([sys.executable, *words], folder, limit=False)
        done.setdefault("bare", []).append(bare)
        for name, python in pythons.items():
            store = folder / f"store {name}"
            run = [python, "-m", "dask", "blackbox", "run", "-q", "--store", str(store)]
            figures = measured(
                [*run, "--", sys.executable, *words], folder, limit=case == "file limit"
            )
            done.setdefault(name, []).append(figures)
    return done


def table(case: str, done: dict[str, list[dict[str, float]]]) -> Iterator[str]:
    """Yield the rows of a case."""
    bare = done.pop("bare")
    for way, figures in done.items():
        for what in figures[0]:
            before = [each[what] for each in bare if what in each]
            now = [each[what] for each in figures]
            row = f"| {case} | {what} | {way} |"
            first = f"{statistics.median(before):.2f}" if before else ""
            yield f"{row} {first} | {statistics.median(now):.2f} |"


def main() -> None:
    """Measure, and print the table; or be the command that is measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=1)
    parser.add_argument("--only", choices=list(CASES), nargs="*")
    parser.add_argument("--size", type=float, default=1.0, help="of each job")
    parser.add_argument("--against", help="another Python, with another version")
    parser.add_argument("--job", choices=list(JOBS), help=argparse.SUPPRESS)
    parser.add_argument("--report", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.job:
        job(chosen.job, chosen.size, chosen.report)
        return
    pythons = {"recorded": sys.executable}
    if chosen.against:
        pythons = {"before": chosen.against, **pythons}
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    ctypes.CDLL(None).prctl(_ADOPT_ORPHANS, 1, 0, 0, 0)
    print(f"{chosen.pairs} pairs, load before {os.getloadavg()[0]:.1f}")
    print("| case | figure | version | bare | recorded |\n|---|---|---|---|---|")
    with ExitStack() as ends:
        folder = Path(ends.enter_context(tempfile.TemporaryDirectory()))
        os.environ["TMPDIR"] = str(folder)
        for case in chosen.only or CASES:
            for row in table(case, measure(case, pythons, chosen, folder)):
                print(row, flush=True)
    print(f"load after {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
