"""The skew matrix: clusters and drivers of other versions, and what is recorded of them.

    python tests/support/skew_matrix.py            all pairs, as the table of docs/compatibility.md
    python tests/support/skew_matrix.py 2024.8     those whose cluster or driver names it

The environments hold `distributed` and what it needs, and are brought by uv (`tools/uv`):
from the index, or from its cache; other Pythons from the machine, or from the network.
`test_version_skew.py` runs a part of it.
"""

from __future__ import annotations

import argparse
import atexit
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
from conditions import scaled, until
from dask_blackbox import Run, RunCard
from project_uv import UV
from scenario_runs import SCENARIOS, Home
from stored_events import details

__all__ = [
    "OURS",
    "PAIRS",
    "Pair",
    "Seen",
    "Unavailable",
    "Versions",
    "look",
    "python_of",
]

ROOT = Path(__file__).resolve().parents[2]
_EXIT_CODE = 7  # of a worker that the scenario's last step ends

# Both workers may be gone before the first profile is due.
_OFTEN = {"DASK_BLACKBOX__CAPTURE__PROFILE_INTERVAL": "1s"}


class Unavailable(Exception):  # noqa: N818 - it is a state of this machine
    """An environment cannot be made here."""


class Versions(NamedTuple):
    """An environment: its distributed and its Python; `ours` where dask-blackbox is."""

    distributed: str
    python: str
    ours: bool = False

    def __str__(self) -> str:
        return f"{self.distributed} on {self.python}"


OURS = Versions(
    "locked", f"{sys.version_info.major}.{sys.version_info.minor}", ours=True
)
_D2024, _D2025 = Versions("2024.8.2", "3.10"), Versions("2025.1.0", "3.12")
_MID, _NEW = Versions("2025.7.0", "3.13"), Versions("2026.8.0", "3.12")


class Pair(NamedTuple):
    """Who computes where, and who records it.

    Attributes:
        cluster: Of scheduler, nannies and workers.
        driver: Of the client.
        recorded: `recording()` in the driver, or `dask blackbox record` from ours.
        nanny: Whether the workers have one.
    """

    cluster: Versions
    driver: Versions
    recorded: str
    nanny: bool = True

    def __str__(self) -> str:
        lonely = "" if self.nanny else ", no nanny"
        return f"{self.driver} → {self.cluster}{lonely}, {self.recorded}"


PAIRS = (
    *(
        Pair(cluster, OURS, "recording()", nanny)
        for cluster in (_D2024, _D2025, _MID, _NEW)
        for nanny in (True, False)
    ),
    *(
        Pair(cluster, cluster, "dask blackbox record", nanny)
        for cluster in (_D2024, _D2025, _MID, _NEW)
        for nanny in (True, False)
    ),
    *(
        Pair(cluster, driver._replace(ours=True), "recording()")
        for driver in (_D2025, _MID)
        for cluster in (_D2024, driver, Versions("2026.8.0", "3.12"))
    ),
    Pair(_NEW, _D2024, "dask blackbox record"),
)


@dataclass
class Seen:
    """What came of a pair.

    Attributes:
        refused: Why Dask itself does not let this client work there; None if it does.
        steps: What came of each step of the client's.
        card: Of the recording.
        run: The recording.
        errors: What the user sees of it on standard error.
    """

    refused: str | None = None
    steps: dict[str, str] = field(default_factory=dict)
    card: RunCard | None = None
    run: Run | None = None
    errors: str = ""

    def lacks(self) -> list[str]:
        """Return what should have been recorded and was not."""
        if self.run is None or self.card is None:
            return [] if self.refused else ["a recording"]
        run, found = self.run, []
        wanted = {
            "tasks": run.tasks.filter(pl.col("outcome") == "finished").height
            >= self._finished(),
            "exceptions": self.steps.get("error") != "ZeroDivisionError"
            or "divmod" in "".join(run.errors["key"].to_list()),
            "printed lines": self._said("stdout", "printed by a task"),
            "log lines of tasks": self._said("root", "logged by a task"),
            "scheduler's log": "scheduler" in set(run.logs["role"]),
            "metrics": run.metrics.filter(pl.col("memory") > 0)["source"].n_unique()
            >= 3,
            "profile": bool(details(run, "profile")),
            "fine metrics": bool(details(run, "fine-metrics")),
            "versions": self._versions(),
            "exit report": self._reported(),
        }
        if "6" not in self.steps.get("sum", ""):  # Dask could not compute at all
            for name in ("printed lines", "log lines of tasks", "profile", "exit report",
                         "exceptions", "fine metrics"):  # fmt: skip
                wanted.pop(name)
        found += [name for name, there in wanted.items() if not there]
        return found

    def _finished(self) -> int:
        alone = ("sum", "print", "log", "sleep", "own function")
        ended = sum(self.steps.get(name) in ("6", "None", "5") for name in alone)
        return ended + 20 * self.steps.get("map", "").startswith("[20")

    def _said(self, logger: str, text: str) -> bool:
        assert self.run is not None
        logs = self.run.logs.filter(pl.col("logger") == logger)
        there = logs.filter(pl.col("message").str.contains(text, literal=True))
        return there.height == 1 and there["key"].null_count() == 0

    def _versions(self) -> bool:
        assert self.run is not None
        added = details(self.run, "worker-added")
        return bool(added) and all(each.get("python") for each in added)

    def _reported(self) -> bool:
        assert self.run is not None
        return any(
            reported.get("exit_code") == _EXIT_CODE and reported.get("memory")
            for reported in details(self.run, "worker-exit-report")
        )


@cache
def python_of(versions: Versions) -> Path:
    """Return the interpreter of an environment, made if it is not there yet.

    Raises:
        Unavailable: if uv cannot bring it.
    """
    if versions == OURS:
        return Path(sys.executable)
    folder = Path(tempfile.mkdtemp(prefix="skewed-")) / "venv"
    atexit.register(shutil.rmtree, folder.parent, ignore_errors=True)
    python = folder / "bin" / "python"
    wanted = [f"distributed=={versions.distributed}"]
    wanted += ["-e", str(ROOT / "core")] if versions.ours else []
    # Pythons that pyenv has built are not on the path.
    built = sorted(Path.home().glob(f".pyenv/versions/{versions.python}.*/bin"))
    path = os.pathsep.join([*map(str, built), os.environ["PATH"]])
    for command in (
        [UV, "venv", "--quiet", "--python", versions.python, str(folder)],
        [UV, "pip", "install", "--quiet", "--python", str(python), *wanted],
    ):
        done = subprocess.run(
            command, capture_output=True, text=True, check=False,
            timeout=scaled(300), env=os.environ | {"PATH": path},
        )  # fmt: skip
        if done.returncode:
            raise Unavailable(f"{versions}: {done.stderr.strip()[-500:]}")
    return python


def look(pair: Pair, home: Home) -> Seen:
    """Bring a cluster up, have a client work there, and look at what is recorded."""
    store = str(home.folder / "store")
    with _cluster(pair, home) as address:
        if pair.recorded == "recording()":
            reported, errors = _work(pair, home, address, store)
            return _seen(reported, errors)
        with _recorder(home, store, address) as said:
            reported, errors = _work(pair, home, address)
    [folder] = [path.parent for path in Path(store).rglob("card.json")]
    reported["card"] = json.loads((folder / "card.json").read_text())
    return _seen(reported, errors + said.read_text())


@contextlib.contextmanager
def _recorder(home: Home, store: str, address: str) -> Iterator[Path]:
    """Run `dask blackbox record` meanwhile; give the file of what it says."""
    said = home.folder / "record.log"
    command = ["blackbox", "record", "--store", store, address]
    with said.open("w") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "dask", *command], env=home.environment(**_OFTEN),
            stdout=file, stderr=file, cwd=home.folder, start_new_session=True,
        )  # fmt: skip
    try:
        until(lambda: "until Ctrl-C" in said.read_text() or process.poll() is not None,
              "the recorder")  # fmt: skip
        assert process.poll() is None, said.read_text()
        yield said
        process.send_signal(signal.SIGINT)
        process.wait(120)
    finally:
        process.kill()
        process.wait()


def _seen(reported: dict[str, Any], errors: str) -> Seen:
    seen = Seen(reported.get("refused"), reported.get("steps", {}), errors=errors)
    if "card" in reported:
        seen.card = RunCard.from_json(json.dumps(reported["card"]).encode())
        seen.run = Run.open(seen.card.links["recording"])
    return seen


def _work(
    pair: Pair, home: Home, address: str, *store: str
) -> tuple[dict[str, Any], str]:
    command = [
        str(python_of(pair.driver)),
        str(SCENARIOS / "skewed.py"),
        address,
        *store,
    ]
    done = subprocess.run(
        command, env=home.environment(**_OFTEN), capture_output=True, text=True,
        timeout=scaled(180), check=False,
    )  # fmt: skip
    reported = home.folder / "reported.json"
    assert reported.exists(), done.stderr
    return json.loads(reported.read_text()), done.stderr


@contextlib.contextmanager
def _cluster(pair: Pair, home: Home) -> Iterator[str]:
    python, reported = str(python_of(pair.cluster)), home.folder / "scheduler.json"
    environment = home.environment(
        DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES="0", PYTHONWARNINGS="ignore"
    )
    here = ["--host", "127.0.0.1", "--no-dashboard"]
    commands = [
        [python, "-m", "distributed.cli.dask_scheduler", *here, "--port", "0",
         "--scheduler-file", str(reported)],
        *2 * [
            [python, "-m", "distributed.cli.dask_worker", *here, "--scheduler-file",
             str(reported), "--nthreads", "1", "--nanny" if pair.nanny else "--no-nanny",
             "--memory-limit", "1GiB", "--local-directory", str(home.temporary)]
        ],
    ]  # fmt: skip
    running = []
    try:
        for command in commands:
            with (home.folder / "cluster.log").open("ab") as log:
                running.append(
                    subprocess.Popen(
                        command, env=environment, stdout=log, stderr=log,
                        cwd=home.folder, start_new_session=True,
                    )
                )  # fmt: skip
            until(lambda: _address_in(reported), "the scheduler")
        until(lambda: _workers_in(home) >= 2, "two workers")
        yield str(_address_in(reported))
    finally:
        for process in running:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _address_in(path: Path) -> str | None:
    try:
        return str(json.loads(path.read_text())["address"])
    except (OSError, ValueError, KeyError):
        return None


def _workers_in(home: Home) -> int:
    return (home.folder / "cluster.log").read_text().count("Registered to:")


def _row(pair: Pair, seen: Seen) -> str:
    can = [name for name, said in seen.steps.items() if name != "exit" and (
        said in ("6", "None", "5", "ZeroDivisionError") or said.startswith("["))]  # fmt: skip
    if seen.refused:
        works = "no: " + seen.refused.splitlines()[0][:90]
    elif not can:
        works = "no: " + next(iter(seen.steps.values()), "nothing")
    else:
        works = "yes" if "own function" in can else "yes, without functions of its own"
    lacks = seen.lacks()
    recorded = (
        "-"
        if seen.card is None
        else "in full"
        if not lacks
        else "lacks " + ", ".join(lacks)
    )
    missing = (
        "" if seen.card is None else str(seen.card.completeness.get("missing", ""))
    )
    nanny = "nanny" if pair.nanny else "no nanny"
    return (
        f"| {pair.cluster} | {nanny} | {pair.driver} | `{pair.recorded}` "
        f"| {works} | {recorded} {missing} |"
    )


def main() -> int:
    """Fly the pairs and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", nargs="?", default="")
    wanted = parser.parse_args().name
    failed = 0
    print(
        "| cluster | workers | driver | recorded with | Dask itself computes | recorded |"
    )
    print("|---|---|---|---|---|---|", flush=True)
    for pair in (pair for pair in PAIRS if wanted in str(pair)):
        with tempfile.TemporaryDirectory(prefix="sk") as folder:
            home = Home(Path(folder))
            try:
                seen = look(pair, home)
                print(_row(pair, seen), flush=True)
                failed += bool(seen.lacks())
            except Unavailable as error:
                print(f"| {pair.cluster} | | {pair.driver} | not here: {error} | | |")
            except Exception:  # noqa: BLE001 - the others are to fly
                failed += 1
                print(f"| {pair} | FAILED", flush=True)
                traceback.print_exc()
            finally:
                home.clear()
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
