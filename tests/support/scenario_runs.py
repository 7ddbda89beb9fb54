"""Scenarios run by processes of their own, and what those leave on the machine.

A scenario is a script in `scenarios/`.  It gets a home of its own (temporary folder, data
folder, configuration), so that what is left over can be distinguished from what others left over.
"""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
from conditions import scaled, until
from dask_blackbox import Run, RunCard

SCENARIOS = Path(__file__).parents[1] / "core" / "scenarios"
TIMEOUT = 120.0
_FORGOTTEN = ("AWS_", "DASK", "AIRFLOW", "PREFECT", "GITHUB_", "XDG_", "PYTHON")


@dataclass
class Home:
    """Where the processes of one scenario live."""

    folder: Path

    def __post_init__(self) -> None:
        for each in (self.home, self.temporary, self.data, self.configuration):
            each.mkdir(parents=True, exist_ok=True)

    @property
    def home(self) -> Path:
        """Their user's home."""
        return self.folder / "home"

    @property
    def temporary(self) -> Path:
        """Their temporary folder."""
        return self.folder / "t"

    @property
    def data(self) -> Path:
        """Where their user's data lies."""
        return self.folder / "data"

    @property
    def configuration(self) -> Path:
        """Where Dask's configuration lies."""
        return self.folder / "dask"

    def environment(self, **more: str) -> dict[str, str]:
        """Return variables that make this the home of a process."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith(_FORGOTTEN)}
        return kept | {
            # Beside the data: what lies in the home of a container is warned about.
            "HOME": str(self.home),
            "TMPDIR": str(self.temporary),
            "XDG_DATA_HOME": str(self.data),
            "DASK_CONFIG": str(self.configuration),
            "SCENARIO_REPORTED": str(self.folder / "reported.json"),
            # Workers that are asked for their dashboard would fight for port 8787.
            "DASK_DISTRIBUTED__SCHEDULER__DASHBOARD__STATUS__TASK_STREAM_LENGTH": "10",
            **more,
        }

    def processes(self) -> dict[int, str]:
        """Return the command lines of the processes that live here, by their ids."""
        mark = f"TMPDIR={self.temporary}".encode()
        found = {}
        for each in Path("/proc").iterdir():
            try:
                if each.name.isdigit() and mark in (each / "environ").read_bytes():
                    line = (each / "cmdline").read_bytes().replace(b"\0", b" ")
                    found[int(each.name)] = line.decode("utf-8", "replace")
            except OSError:  # it has just ended, or is somebody else's
                continue
        return found

    def left_over(self) -> list[str]:
        """Return what of ours is left on the disk."""
        ours = [
            *self.temporary.glob("dbb-*"),
            *self.temporary.glob("dask-blackbox-*/rings/*"),
            *self.temporary.glob("dask-blackbox-*/spool/*"),
        ]
        return [str(each.relative_to(self.temporary)) for each in ours]

    def quiet(self) -> None:
        """Wait until no process lives here any more."""
        until(lambda: not self.processes(), f"the end of {self.processes()}")

    def clear(self) -> None:
        """End what still lives here."""
        for pid in self.processes():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue


@dataclass
class ScenarioRun:
    """A scenario that has been reported.

    Attributes:
        home: Where it lived.
        code: Its exit code.
        output: What it wrote to standard output.
        errors: What it wrote to standard error.
        seconds: How long it took.
        reported: What it reported on purpose.
    """

    home: Home
    code: int
    output: str
    errors: str
    seconds: float
    reported: dict[str, Any] = field(default_factory=dict)

    @property
    def card(self) -> RunCard:
        """The card that it reported."""
        assert "card" in self.reported, self.errors
        return msgspec.convert(self.reported["card"], RunCard)

    @property
    def run(self) -> Run:
        """The recording that the card points to."""
        return Run.open(self.card.links["recording"])


def begin(
    home: Home,
    *command: str,
    python: str = sys.executable,
    by: Sequence[str] = (),
    **environment: str,
) -> subprocess.Popen[str]:
    """Start a scenario (`name.py ARGUMENTS…`) in a session of its own.

    Args:
        python: Which runs it.
        by: Words before these, of a command that starts it.
    """
    script, *rest = command
    return _begin([*by, python, str(SCENARIOS / script), *rest], home, environment)


def _begin(
    command: list[str], home: Home, environment: dict[str, str]
) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command,
        env=home.environment(**environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="surrogateescape",  # so that every byte can be reported
        cwd=home.folder,
        start_new_session=True,
    )


def ended(
    home: Home, process: subprocess.Popen[str], *, timeout: float = TIMEOUT
) -> ScenarioRun:
    """Wait for the end of a scenario and hear what it reported."""
    begun = time.monotonic()
    try:
        output, errors = process.communicate(timeout=scaled(timeout))
    except subprocess.TimeoutExpired:
        home.clear()
        output, errors = process.communicate()
        raise AssertionError(
            f"no end in {scaled(timeout):.0f} s: {errors[-3000:]}"
        ) from None
    reported = home.folder / "reported.json"
    return ScenarioRun(
        home=home,
        code=process.returncode,
        output=output,
        errors=errors,
        seconds=time.monotonic() - begun,
        reported=json.loads(reported.read_text()) if reported.exists() else {},
    )


def run_scenario(
    home: Home, *command: str, code: int | None = 0, **environment: str
) -> ScenarioRun:
    """Run a scenario to its end."""
    finished = ended(home, begin(home, *command, **environment))
    reported = f"exit code {finished.code}\n{finished.errors[-5000:]}"
    assert code is None or finished.code == code, reported
    return finished


def begin_command(home: Home, *words: str, **environment: str) -> subprocess.Popen[str]:
    """Start a `dask …` command in a session of its own."""
    return _begin([sys.executable, "-m", "dask", *words], home, environment)


def messages(logs: pl.DataFrame, containing: str) -> list[str]:
    """Return the messages that contain a text, in order."""
    return logs.filter(pl.col("message").str.contains(containing, literal=True))[
        "message"
    ].to_list()


def every_byte(folder: Path) -> bytes:
    """Return all that lies in a folder, compressed blobs and columns unpacked as well."""
    from dask_blackbox.capture.worker.bundle_file import read_bundle
    from dask_blackbox.segments import read_segment

    found = []
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        blob = path.read_bytes()
        found.append(str(path).encode() + b"\n" + blob)
        if path.suffix == ".parquet":
            found.append(pl.read_parquet(path).write_json().encode())
        elif path.suffix == ".seg":
            rows = [batch.rows for batch in read_segment(blob).frames]
            found.append(json.dumps(rows, default=str).encode())
        elif path.suffix == ".bundle":
            bundle = read_bundle(blob)
            found += [json.dumps(bundle.facts).encode(), *map(bytes, bundle.parts)]
        elif path.parent.parent.name == "sketches":
            found.append(gzip.decompress(blob))
    return b"\n".join(found)
