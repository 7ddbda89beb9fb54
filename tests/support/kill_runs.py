"""One row of the kill matrix: start it, kill a process, and read what was recorded.

Real processes, real signals; `looking` compares what was recorded with what happened.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from conditions import scaled, until
from kill_checks import (
    Row,
    Seen,
    leaves_orphans,
    look,
    look_at_what_is_left,
    reported_in,
    truth_in,
)
from scenario_runs import Home, begin, ended

__all__ = ["address_in", "end_group", "kill_and_look"]

_EXTERNAL = ("commands", "--no-nanny", "--nworkers", "dask spec", "--lifetime")
_LIMIT = "320MiB"


def kill_and_look(
    row: Row, home: Home, *, within: float = 3.0, timeout: float = 120.0
) -> Seen:
    """Fly a row in a home of its own, and return what was seen.

    Args:
        row: What to do.
        home: Where its processes live.
        within: Seconds of work within which the moment of the deed lies.
        timeout: Seconds that the driver may take to end, once it is done.
    """
    with contextlib.ExitStack() as ends:
        address = None
        if row.cluster in _EXTERNAL:
            address = ends.enter_context(_cluster(row, home))
        store = str(home.folder / "store")
        work = _work_of(row)
        words = [store, row.cluster, work, *([address] if address else [])]
        process = begin(home, "kills.py", *words, **_environment(row))
        reported, moment = _kill(row, home, address, within)
        finished = None
        if row.what == "everything":
            process.communicate()
        elif leaves_orphans(row):
            process.wait(timeout)  # its pipes stay open: who lives on has them, too
        else:
            finished = ended(home, process, timeout=timeout)
        (home.folder / "release").touch()
        _wait_for_the_recorder(home, reported["recording"])
        seen = look(row, home, reported, moment, within)
        if finished is not None and "card" in finished.reported:
            seen.expect("card's state", finished.reported["card"]["state"], row.state)
    look_at_what_is_left(row, home, seen)
    return seen


# Before


def _environment(row: Row) -> dict[str, str]:
    variables = {"DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "0"}
    if "PYTHONPATH" in os.environ:  # to fly another tree than the one installed
        variables["PYTHONPATH"] = os.environ["PYTHONPATH"]
    if row.how == "SIGSTOP":
        variables["DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL"] = "2s"
    return variables


def _work_of(row: Row) -> str:
    if row.how == "unreadable":
        return row.how
    if row.what == "task":
        return f"die {row.how}"
    if row.what == "nobody":
        return row.how
    own = {"an exception": "raise_", "sys.exit(3)": "exit_3", "idle timeout": "idle"}
    return own.get(row.how, "chat")


@contextlib.contextmanager
def _cluster(row: Row, home: Home) -> Iterator[str]:
    """Start `dask scheduler` and workers as processes that don't hang on the driver."""
    environment = home.environment() | _environment(row)
    logs = home.folder / "logs"
    logs.mkdir(exist_ok=True)
    started: list[subprocess.Popen[bytes]] = []

    def start(name: str, *command: str) -> None:
        with (logs / name).open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, *command],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=home.folder,
                start_new_session=True,
            )
        started.append(process)
        # As shells and batch systems do: who died is no zombie for long.
        threading.Thread(target=process.wait, daemon=True).start()

    file = home.folder / "scheduler.json"
    idle = ["--idle-timeout", "4s"] if row.how == "idle timeout" else []
    start(
        "scheduler", "-m", "dask", "scheduler", "--host", "127.0.0.1", "--port", "0",
        "--no-dashboard", "--scheduler-file", str(file), *idle,
    )  # fmt: skip
    try:
        until(file.exists, "the scheduler's file")
        address = until(lambda: address_in(file), "the scheduler")
        for i, command in enumerate(_workers(row, address, str(home.temporary))):
            start(f"worker-{i}", *command)
        yield address
    finally:
        for each in started:
            end_group(each)


def address_in(file: Path) -> str | None:
    """Return the address that a scheduler has written, once it has."""
    try:
        return str(json.loads(file.read_text())["address"])
    except (OSError, ValueError, KeyError):
        return None


def _workers(row: Row, address: str, folder: str) -> Iterator[list[str]]:
    if row.cluster == "dask spec":
        options = {
            "nthreads": 1,
            "memory_limit": _LIMIT,
            "local_directory": folder,
        }
        spec = {"cls": "distributed.Nanny", "opts": options}
        for _ in range(2):
            yield ["-m", "dask", "spec", address, "--spec", json.dumps(spec)]
        return
    more = {
        "commands": [],
        "--no-nanny": ["--no-nanny"],
        "--nworkers": ["--nworkers", "2"],
        "--lifetime": ["--lifetime", "6s"],
    }[row.cluster]
    threads = "2" if row.cluster == "--nworkers" else "1"
    for i in range(1 if row.cluster == "--nworkers" else 2):
        # Both ways in which people start one.
        module = (
            ["-m", "dask", "worker"] if i else ["-m", "distributed.cli.dask_worker"]
        )
        yield [
            *module, address, "--host", "127.0.0.1", "--nthreads", threads,
            "--no-dashboard", "--memory-limit", _LIMIT, "--local-directory", folder,
            *more,
        ]  # fmt: skip


def end_group(process: subprocess.Popen[bytes]) -> None:
    """End a process and its group, by force if need be."""
    for number in (signal.SIGCONT, signal.SIGTERM):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


# The deed


def _kill(
    row: Row, home: Home, address: str | None, within: float
) -> tuple[dict[str, Any], float]:
    """Wait until all are at work, and some; then do it.  Return who was who, and when."""
    until(lambda: "links" in reported_in(home), "the recording's beginning")
    if row.what in ("task", "nobody") or row.how in ("an exception", "sys.exit(3)"):
        return reported_in(home), time.time()
    if row.how == "idle timeout":
        return reported_in(home), time.time()
    expected = 4 if row.cluster == "--nworkers" else 2
    until(lambda: len(truth_in(home)) >= expected, "tasks at work")
    time.sleep(random.uniform(0, within))
    reported = reported_in(home)
    moment = time.time()
    _DEEDS.get(row.what, _signal_them)(row, home, reported, address)
    return reported, moment


def _signal_them(
    row: Row, home: Home, reported: dict[str, Any], address: str | None
) -> None:
    if row.how == "client.shutdown":
        code = f"from distributed import Client; Client({address!r}).shutdown()"
        subprocess.run(
            [sys.executable, "-c", code], env=home.environment(), check=True,
            capture_output=True, timeout=scaled(60),
        )  # fmt: skip
        return
    number = signal.Signals[row.how]
    worker = min(reported["workers"])
    pid = {
        "worker": reported["workers"][worker],
        "nanny": reported["nannies"].get(worker),
        "scheduler": reported["scheduler"],
        "driver": reported["driver"],
        "recorder": reported["recorder"],
    }[row.what]
    os.kill(pid, number)


def _group(row: Row, home: Home, reported: dict[str, Any], address: str | None) -> None:
    leader = reported["driver"]
    if row.what == "nanny and worker":
        leader = reported["nannies"][min(reported["workers"])]
        if os.getpgid(leader) == os.getpgid(
            reported["driver"]
        ):  # a cluster of the driver's
            os.kill(leader, signal.SIGKILL)
            os.kill(reported["workers"][min(reported["workers"])], signal.SIGKILL)
            return
    os.killpg(os.getpgid(leader), signal.Signals[row.how])


def _twice(row: Row, home: Home, reported: dict[str, Any], address: str | None) -> None:
    os.kill(reported["recorder"], signal.SIGKILL)
    another = until(
        lambda: _recorders(home) - {reported["recorder"]}, "another recorder"
    )
    until(lambda: _spool_has_two_writers(home), "its first segment")
    for pid in another:
        os.kill(pid, signal.SIGKILL)
    (home.folder / "release").touch()


def _once(row: Row, home: Home, reported: dict[str, Any], address: str | None) -> None:
    os.kill(reported["recorder"], signal.SIGKILL)
    until(lambda: _recorders(home) - {reported["recorder"]}, "another recorder")
    time.sleep(random.uniform(0, 2))
    (home.folder / "release").touch()


def _everything(
    row: Row, home: Home, reported: dict[str, Any], address: str | None
) -> None:
    victims = home.processes()
    for pid in victims:  # stopped first: nobody sees another one die
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)
    home.clear()


_DEEDS = {
    "driver's group": _group,
    "nanny and worker": _group,
    "recorder": _once,
    "recorder twice": _twice,
    "everything": _everything,
}


def _recorders(home: Home) -> set[int]:
    return {pid for pid, c in home.processes().items() if "dask_blackbox.recorder" in c}


def _spool_has_two_writers(home: Home) -> bool:
    found = home.temporary.glob("dask-blackbox-*/spool/*/segments/*.seg")
    return len({each.name.partition("-")[0] for each in found}) > 1


def _wait_for_the_recorder(home: Home, recording: str) -> None:
    until(lambda: not _recorders(home), "the recorder's end")
