"""What a recording costs at its entry and its exit, and `dask blackbox run` in all.

    python benchmarks/entry_and_exit.py [--rounds 10] [--against PYTHON] [--seconds 2] [--s3]

Each round starts a cluster and a short script with and without recording, in turn, and with
`--against` the same with another interpreter, where another version is installed.  Prints
a Markdown table of medians, the lowest and the highest, in seconds; CPU seconds are those of
all processes that the command starts, the recorder included.  A first round is not counted:
it writes the byte code, which a package that was installed has.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from dask_blackbox.testing import embedded_s3

_RECORDED = """
import json, sys, time
from contextlib import nullcontext
from distributed import Client, LocalCluster
def work(x):
    time.sleep(0.01)
    return x
if __name__ == "__main__":
    store, seconds = sys.argv[1], float(sys.argv[2])
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster:
        with Client(cluster) as client:
            client.wait_for_workers(2)
            from dask_blackbox import recording
            around = recording(client, store=store, job="bench") if store else nullcontext()
            began = time.perf_counter()
            with around:
                entered = time.perf_counter()
                client.gather(client.map(work, range(int(seconds * 200)), pure=False))
                done = time.perf_counter()
            left = time.perf_counter()
    closed = time.perf_counter()
    card = around.card if store else None
    fine = card is None or (card.state == "succeeded" and card.completeness["complete"])
    print(json.dumps({"entry": entered - began, "exit": left - done, "closing": closed - left,
                      "fine": fine}))
"""

_ADOPT_ORPHANS = 36  # `PR_SET_CHILD_SUBREAPER`, from linux/prctl.h

_COMMAND = """
import time
from distributed import Client, LocalCluster
if __name__ == "__main__":
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster:
        with Client(cluster) as client:
            client.gather(client.map(str, range(200), pure=False))
"""


def by_context_manager(
    python: str, folder: Path, store: str, seconds: float, environment: dict[str, str]
) -> dict[str, float]:
    """Run a script that records itself, or does not; return what it took."""
    script = folder / "recorded.py"
    script.write_text(_RECORDED)
    done = subprocess.run(  # noqa: S603
        [python, str(script), store, str(seconds)],
        check=True,
        capture_output=True,
        env=environment,
    )
    reported: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    if not reported.pop("fine"):
        raise SystemExit(f"not recorded: {done.stderr.decode()}")
    return reported


def by_command(words: list[str], environment: dict[str, str]) -> tuple[float, float]:
    """Run a command; return its seconds, and the CPU seconds of all that it started."""
    before, begun = _cpu_of_children(), time.perf_counter()
    subprocess.run(words, check=True, capture_output=True, env=environment)  # noqa: S603
    took = time.perf_counter() - begun
    with contextlib.suppress(ChildProcessError):
        while True:  # a recorder that ends after the command
            os.wait()
    return took, _cpu_of_children() - before


def _cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def by_commands(
    pythons: dict[str, str], folder: Path, store: str, environment: dict[str, str]
) -> dict[str, float]:
    """Run a script bare and under `dask blackbox run`, and `dask` alone; return figures."""
    script = folder / "command.py"
    script.write_text(_COMMAND)
    command = [sys.executable, str(script)]
    bare, bare_cpu = by_command(command, environment)
    dask, dask_cpu = by_command(
        [sys.executable, "-m", "dask", "--version"], environment
    )
    found = {
        "| `dask --version` | now |": dask,
        "| `dask --version`, CPU | now |": dask_cpu,
    }
    for name, python in pythons.items():
        words = [python, "-m", "dask", "blackbox", "run", "--store", store, "--"]
        for what, each, seconds, cpu in (
            ("a cluster", command, bare, bare_cpu),
            ("`python -c pass`", [sys.executable, "-c", "pass"], 0.0, 0.0),
        ):
            took, took_cpu = by_command([*words, *each], environment)
            row = f"| `dask blackbox run` of {what}, beyond the command"
            found[f"{row} | {name} |"] = took - seconds
            found[f"{row}, CPU | {name} |"] = took_cpu - cpu
    return found


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--against", help="another Python, with another version")
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--s3", action="store_true", help="record into an S3 server")
    chosen = parser.parse_args()
    pythons = {"now": sys.executable}
    if chosen.against:
        pythons = {"before": chosen.against, **pythons}
    figures: dict[str, list[float]] = {}
    with ExitStack() as ends:
        folder = Path(ends.enter_context(tempfile.TemporaryDirectory()))
        environment = os.environ | {"TMPDIR": str(folder)}
        store = str(folder / "store")
        if chosen.s3:
            server = ends.enter_context(embedded_s3())
            environment |= server.environment
            store = server.url
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        with contextlib.suppress(AttributeError):  # Linux only
            ctypes.CDLL(None).prctl(_ADOPT_ORPHANS, 1, 0, 0, 0)
        for number in range(chosen.rounds + 1):
            found = by_commands(pythons, folder, store, environment)
            bare = by_context_manager(
                sys.executable, folder, "", chosen.seconds, environment
            )
            for name, python in pythons.items():
                took = by_context_manager(
                    python, folder, store, chosen.seconds, environment
                )
                took["closing, beyond that without recording"] = (
                    took.pop("closing") - bare["closing"]
                )
                found |= {f"| {what} | {name} |": each for what, each in took.items()}
            for row, seconds in found.items():
                if number:
                    figures.setdefault(row, []).append(seconds)
    print(f"{chosen.rounds} rounds, load at the end {os.getloadavg()[0]:.1f}")
    print("| what | version | median | lowest | highest |")
    print("|---|---|---|---|---|")
    for what, each in sorted(figures.items()):
        print(
            f"{what} {statistics.median(each):.2f} | {min(each):.2f} | {max(each):.2f} |"
        )


if __name__ == "__main__":
    main()
