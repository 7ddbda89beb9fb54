"""What scenarios share: how they report to their test, and how clusters start."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any


def report(**facts: Any) -> None:
    """Let the test know; later facts go beside earlier ones."""
    path = Path(os.environ["SCENARIO_REPORTED"])
    known = json.loads(path.read_text()) if path.exists() else {}
    part = path.with_suffix(".part")
    part.write_text(json.dumps(known | facts, default=str))
    part.replace(path)


def report_card(rec: Any, **facts: Any) -> None:
    """Let the test know the card."""
    report(card=json.loads(rec.card.to_json()), **facts)


def scaled(seconds: float) -> float:
    """Return how long that takes at most on a machine as busy as this one."""
    return seconds * float(os.environ.get("TEST_LOAD_FACTOR", "1"))


def until(condition: Callable[[], Any], what: str, timeout: float = 60.0) -> Any:
    """Return what `condition` returns once it is true."""
    limit = scaled(timeout)
    deadline = time.monotonic() + limit
    while True:
        asked = time.monotonic()
        if found := condition():
            return found
        now = time.monotonic()
        if now > deadline:
            raise TimeoutError(f"waited {limit:.0f} s for {what}")
        time.sleep(max(0.02, min(9 * (now - asked), 0.5)))


def recorders(owner: int) -> set[int]:
    """Return the recorders that a process has started, which are not its children.

    One that starts forks, and its parent exits at once: of the two, that is the other one.
    """
    marks = f"dask_blackbox.recorder {owner}"
    found = dict[int, int]()
    for each in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has just exited
            line = (each / "cmdline").read_text(errors="replace")
            if line.replace("\0", " ").strip().endswith(marks):
                status = (each / "stat").read_text().rpartition(")")[2].split()
                found[int(each.name)] = int(status[1])
    return found.keys() - set(found.values())


@contextlib.contextmanager
def commands_cluster(
    *options: str, python: str = sys.executable, workers: int = 1
) -> Iterator[str]:
    """Start `dask scheduler` and `dask worker` as processes; give the address."""
    folder = Path(os.environ["TMPDIR"])
    reported = folder / f"scheduler-{time.monotonic_ns()}.json"
    command = [python, "-m", "distributed.cli.dask_scheduler"]
    command += ["--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
    with _running([*command, "--scheduler-file", str(reported)]):
        address = until(lambda: _address_in(reported), "the scheduler")
        command = [python, "-m", "distributed.cli.dask_worker", address]
        command += ["--nthreads", "1", "--no-dashboard", "--host", "127.0.0.1"]
        command += ["--local-directory", str(folder), *options]
        with contextlib.ExitStack() as ends:
            for _ in range(workers):
                ends.enter_context(_running(command))
            yield address


@contextlib.contextmanager
def _running(command: list[str]) -> Iterator[None]:
    settings = {"DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "0"}
    process = subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
        env=os.environ | settings,
    )
    try:
        yield
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _address_in(path: Path) -> str | None:
    try:
        address: str = json.loads(path.read_text())["address"]
    except (OSError, ValueError, KeyError):
        return None
    return address
