"""Run one case in processes of its own, within a time limit, and leave nothing running."""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import cloudpickle
import psutil
from staging import FAILURES, Failure, NotHere, Stage

__all__ = ["load_failures", "names_of", "run_here", "run_outside"]

_NOT_HERE = 77
_HERE = str(Path(__file__).parent)  # `dask worker` imports the cases
_FAILURES = Path(__file__).with_name("failures")
_MARK = "DASK_CASE_MARK"
_FINALISED = 45.0


def load_failures() -> dict[str, Failure]:
    """Import all modules of `failures`, and return their cases."""
    for file in sorted(_FAILURES.glob("*.py")):
        module = importlib.import_module(f"failures.{file.stem}")
        # As in a user's script: functions inside of cases travel by value.
        cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]
    return FAILURES


def run_here(name: str, store: str, *, outside: bool) -> int:
    """Run a case in this process; return what it exits with, or raise."""
    case = load_failures()[name]
    with tempfile.TemporaryDirectory(
        prefix="case-", ignore_cleanup_errors=True
    ) as folder:
        try:
            case.run(Stage(name, store, Path(folder), outside))
        except NotHere as reason:
            print(f"NOT HERE: {reason}")
            return _NOT_HERE
    return 0


def run_outside(case: Failure, store: Path, script: str) -> dict[str, Any]:
    """Run a case in a process of its own; return how that ended, without verdicts.

    Args:
        case: Which.
        store: A folder of its own, empty.
        script: That runs cases: `script --run NAME --store STORE`.
    """
    mark = uuid.uuid4().hex
    command = [sys.executable, script, "--run", case.name, "--store", str(store)]
    if case.how == "command":
        run = ["-m", "dask", "blackbox", "run", "--store", str(store)]
        run += ["--job", case.name, "--run-id", "recorded", "--"]
        command = [sys.executable, *run, *command, "--outside"]
    begun = time.time()
    with (store / "out.txt").open("wb") as out:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            env={**os.environ, **_environment(case, store), _MARK: mark},
            start_new_session=True,
        )
        late = _wait(process, case.bound)
    folder = store / "runs" / f"job={case.name}"
    deadline = time.monotonic() + _FINALISED
    while folder.exists() and not list(folder.rglob("complete.json")):
        if time.monotonic() > deadline:
            break
        time.sleep(0.2)
    _end(mark)
    said = (store / "out.txt").read_text(errors="replace")
    reported: dict[str, Any] = {
        "name": case.name,
        "at": begun,
        "seconds": round(time.time() - begun, 1),
        "exit": process.returncode,
        "late": late,
        "recorded": folder.exists(),
    }
    if process.returncode == _NOT_HERE:
        reported["not_here"] = said.partition("NOT HERE: ")[2].strip()
    (store / "reported.json").write_text(json.dumps(reported))
    return reported


def _environment(case: Failure, store: Path) -> dict[str, str]:
    """Return the settings of a case as variables, which all of its processes inherit."""
    paths = [_HERE, os.environ.get("PYTHONPATH", "")]
    found = {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
    # Nobody else's recorder takes up what is left of this one.
    found["DASK_BLACKBOX__SPOOL"] = str(store / "spool")
    for key, value in case.settings.items():
        name = key.upper().replace(".", "__").replace("-", "_")
        found[f"DASK_{name}"] = str(value)
    return found


def _wait(process: subprocess.Popen[bytes], bound: float) -> bool:
    """Wait for a process, and end it as schedulers of jobs do; return whether it was late."""
    for seconds, number in ((bound, signal.SIGTERM), (10, signal.SIGKILL)):
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                process.send_signal(number)
        else:
            return number is signal.SIGKILL
    process.wait()
    return True


def _end(mark: str) -> None:
    """Kill what a case has left: all that carries its mark."""
    for each in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if each.environ().get(_MARK) == mark:
                each.kill()


def names_of(asked: Sequence[str], module: str | None, *, held_out: bool) -> list[str]:
    """Return the names of the failures that are asked for: one of each cause first."""
    seen: Counter[str] = Counter()
    found = []
    for name, case in load_failures().items():
        wanted = name in asked or (not asked and bool(case.held_out) == held_out)
        if wanted and module in (None, case.module):
            found.append((seen[case.causes[0]], name))
            seen[case.causes[0]] += 1
    return [name for _, name in sorted(found, key=lambda each: each[0])]
