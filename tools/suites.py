"""The tests: each suite in its own environment, suites of different lanes side by side.

Most tests wait for processes more than they compute.  Those of the core that do are marked
`processes` and run three at a time, or `kills` and run two at a time, beside those that
compute, which leave the processors to them; each line says whose it is.  The last lines say
of each suite how it ended, and what did not run without a browser, or without a cluster manager.

    .venvs/core/bin/python tools/suites.py [--all | --changed] [SUITE…]

Without an option, tests marked `nightly` are left out: `make test`.  `--all` runs every
test, `--changed` those of `make test` that what differs from the branch `main` can reach
(`tools/affected_tests.py`).  Nothing that failed runs again, and deadlines follow the load
of the machine: `docs/decisions/0016-deadlines-follow-the-load.md`.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from load_factor import VARIABLE, load_factor

ROOT = Path(__file__).resolve().parent.parent
NO_TESTS = 5  # pytest's exit code
BROWSER = Path("/usr/bin/chromium")
OPTIONS = ("--all", "--changed")
_RESOURCE = re.compile(
    r"^pytestmark = \[?\s*pytest\.mark\.(processes|kills)\b", re.MULTILINE
)
# What a process still logs when pytest has ended follows its summary.
_SUMMARY = re.compile(r"\b(passed|failed|errors?|deselected|no tests ran)\b.* in \d")
_FAILED = re.compile(r"(\x1b\[\d+m)*(FAILED|ERROR)(\x1b\[\d+m)* \S+\.py")
_UNTESTED = "NOT TESTED: "
"""What the reason begins with for which tests are skipped, if the machine lacks something."""
_turn = threading.Lock()


class Suite(NamedTuple):
    """Tests that share an environment and a run of pytest.

    Attributes:
        name: What to call it.
        environment: Below `.venvs/`.
        files: A folder, or a pattern of files.
        lane: Suites of a lane run one after the other, lanes side by side.
        workers: How many of its tests run at once.
        resource: The mark of its files; those without one if empty, all of them if None.
        niceness: How much it leaves the processors to others.
    """

    name: str
    environment: str
    files: str
    lane: str
    workers: int = 1
    resource: str | None = None
    niceness: int = 0

    def test_files(self) -> list[str]:
        """Return its files with tests, relative to the repository."""
        found = [
            each
            for path in sorted(ROOT.glob(self.files))
            for each in (sorted(path.rglob("test_*.py")) if path.is_dir() else [path])
            if self.resource is None or _resource_of(each) == self.resource
        ]
        return [str(each.relative_to(ROOT)) for each in found]


SUITES = (
    Suite("core", "core", "tests/core", "computing", 2, resource="", niceness=5),
    Suite("processes", "core", "tests/core", "processes", 3, resource="processes"),
    Suite("kills", "core", "tests/core", "processes", 2, resource="kills"),
    Suite("benchmark", "core", "failure_benchmark/tests", "processes", 2, niceness=5),
    # Wheels and sdists of a clone, in environments of their own.
    Suite("install", "core", "tests/install", "processes", niceness=5),
    Suite("airflow", "airflow", "tests/airflow_provider", "airflow"),
    # Airflow runs as processes of its own environment; the tests only ask its API.
    Suite("airflow-e2e", "core", "tests/end_to_end/test_airflow_*.py", "airflow"),
    Suite("prefect", "prefect", "tests/prefect_collection", "prefect"),
    Suite("prefect-e2e", "prefect", "tests/end_to_end/test_prefect_*.py", "prefect"),
)


class Ending(NamedTuple):
    """How a suite ended: pytest's exit code, a line about it, what failed, what is missing."""

    code: int
    line: str
    failed: tuple[str, ...] = ()
    untested: tuple[str, ...] = ()


def main(arguments: list[str]) -> int:
    """Run the suites that are wanted, all without a name; return the exit code."""
    options = [each for each in arguments if each.startswith("-")]
    names = [each for each in arguments if not each.startswith("-")]
    known = [suite.name for suite in SUITES]
    if len(options) > 1 or not {*options, *names} <= {*OPTIONS, *known}:
        print(
            f"cannot run {' '.join(arguments)}: there are the suites"
            f" {', '.join(known)}, and the options {' and '.join(OPTIONS)}"
        )
        return 2
    chosen = [suite for suite in SUITES if not names or suite.name in names]
    affected = _affected_tests() if "--changed" in options else None
    warning = _bring_browser()
    os.environ[VARIABLE] = f"{load_factor():.1f}"
    print(f"━━━ deadlines are multiplied by {os.environ[VARIABLE]}", flush=True)
    marks = "" if "--all" in options else "not nightly"
    if "--all" in options:
        os.environ["TEST_NEW_EXAMPLES"] = "1"
    endings = _run_in_lanes(chosen, marks, affected)
    for failed in (each for ending in endings for each in ending.failed):
        print(failed)
    print("\n" + "\n".join(ending.line for ending in endings))
    missing = [each for ending in endings for each in ending.untested]
    for what in dict.fromkeys([*missing, *([warning] if warning else [])]):
        print(f"{_UNTESTED}{what}")
    return int(any(ending.code not in (0, NO_TESTS) for ending in endings))


def _resource_of(file: Path) -> str:
    text = file.read_text(encoding="utf-8")
    if found := _RESOURCE.search(text):
        return found[1]
    # Whoever runs scenarios waits for their processes.
    return "processes" if "from scenario_runs import" in text else ""


def _affected_tests() -> set[str]:
    """Return the files with tests that what differs from `main` can reach."""
    command = [str(ROOT / ".venvs/lint/bin/python"), "tools/affected_tests.py"]
    done = subprocess.run(
        command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True
    )
    return set(done.stdout.split())


def _run_in_lanes(
    suites: list[Suite], marks: str, affected: set[str] | None
) -> list[Ending]:
    """Run suites, each lane beside the others; return their endings, lane by lane."""

    def run_lane(lane: str) -> list[Ending]:
        own = [suite for suite in suites if suite.lane == lane]
        return [_run(suite, marks, affected) for suite in own]

    lanes = list(dict.fromkeys(suite.lane for suite in suites))
    with ThreadPoolExecutor(max(len(lanes), 1)) as pool:
        return [ending for endings in pool.map(run_lane, lanes) for ending in endings]


def _say(suite: Suite, line: str) -> None:
    with _turn:
        print(f"{suite.name:11} │ {line}", flush=True)


def _run(suite: Suite, marks: str, affected: set[str] | None) -> Ending:
    files = suite.test_files()
    if affected is not None:
        files = [file for file in files if file in affected]
    if not files:
        return Ending(NO_TESTS, f"{suite.name:11} no tests")
    _say(
        suite, f"━━━ {len(files)} files of {suite.files} in .venvs/{suite.environment}"
    )
    options = ["--durations=40", "-rfEs", "-m", marks]
    if suite.workers > 1:
        # Tests that share a fixture of their file run in one process (tests/conftest.py).
        options += [f"--numprocesses={suite.workers}", "--dist=loadgroup"]
    if suite.environment == "core" and suite.name != "core":
        # Without marks, all snapshots are expected to be looked at, which "core" does.
        options.append("--snapshot-warn-unused")
    began = time.monotonic()
    code, cpu, summary, failed, untested = _pytest(
        suite, [*options, *_selection(suite, files)]
    )
    took = time.monotonic() - began
    ending = "ok" if code == 0 else "no tests" if code == NO_TESTS else "FAILED"
    line = f"{suite.name:11} {ending:9} {took:4.0f} s {cpu:5.0f} s CPU   {summary}"
    return Ending(code, line, tuple(failed), tuple(untested))


def _selection(suite: Suite, files: list[str]) -> list[str]:
    """Return arguments with which pytest collects these files of a suite.

    Pytest looks through the folder of each file that it is given: with a hundred of one
    folder, collecting takes a third longer than if all others of the folder are ignored.
    """
    folder = ROOT / suite.files
    if not folder.is_dir():
        return files
    every = {str(each.relative_to(ROOT)) for each in folder.rglob("test_*.py")}
    ignored = [f"--ignore={each}" for each in sorted(every - set(files))]
    return [*ignored, suite.files]


def _pytest(
    suite: Suite, arguments: list[str]
) -> tuple[int, float, str, list[str], list[str]]:
    """Run pytest, printing each line; return its exit code, CPU time, summary, what failed.

    The CPU time has that of processes that were waited for.  Last comes what was not tested,
    because the machine lacks something.
    """
    # In the folder that runs of pytest share, each removes old folders, which others may use.
    folder = Path(tempfile.mkdtemp(prefix="pytest-"))
    command = [
        *(["nice", "-n", str(suite.niceness)] if suite.niceness else []),
        str(ROOT / ".venvs" / suite.environment / "bin" / "python"),
        "-m",
        "pytest",
        f"--color={'yes' if sys.stdout.isatty() else 'no'}",
        f"--override-ini=cache_dir=.pytest_cache/{suite.name}",
        f"--basetemp={folder / suite.name}",
        *arguments,
    ]
    # Tests that bring another program in an environment of its own do so with our uv.
    environ = os.environ | {"UV": str(ROOT / "tools" / "uv")}
    summary = ""
    failed, untested = [], []
    with subprocess.Popen(
        command, cwd=ROOT, env=environ, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL
    ) as process:
        assert process.stdout is not None  # noqa: S101 - for mypy: it is a pipe
        for raw in process.stdout:
            line = raw.decode(errors="replace").rstrip("\n")
            _say(suite, line)
            if _SUMMARY.search(line):
                summary = line.strip("= ")
            elif _FAILED.match(line):
                failed.append(line)
            elif _UNTESTED in line:
                untested.append(line.partition(_UNTESTED)[2])
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode in (0, NO_TESTS):  # else it is there to be looked at
        shutil.rmtree(folder, ignore_errors=True)
    cpu = used.ru_utime + used.ru_stime
    return process.returncode, cpu, summary, failed, untested


def _bring_browser() -> str | None:
    """Install Chromium where that is possible; return what won't be tested without."""
    if BROWSER.exists():
        return None
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        return (
            f"pages in a browser, because of missing {BROWSER} (root on Debian gets it)"
        )
    print("━━━ bringing Chromium, for the tests of pages", flush=True)
    environ = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    for step in (["update"], ["install", "--no-install-recommends", "chromium"]):
        done = subprocess.run(
            ["apt-get", "--yes", "--quiet=2", *step],
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            check=False,
        )
        if done.returncode != 0:
            return f"pages in a browser (apt-get {step[0]} failed: see above)"
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
