"""All tests: each suite in its own environment, two at a time, all of them.

Tests wait for processes more than they compute, so the core's run beside those of the
hosts, two files of them at once; each line says whose it is.  The last lines say of each
suite how it ended, and what did not run without a browser.

    .venvs/core/bin/python tools/suites.py [--quick] [SUITE…]

With `--quick`, tests marked `nightly` are left out, and up to three tests of a suite that
failed run once more on their own (`docs/decisions/0016-unstable-tests.md`): one that passes
then is listed as unstable in the last lines.
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
from functools import partial
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
FAILED_TESTS, NO_TESTS = 1, 5  # pytest's exit codes
RERUN_AT_MOST = 3
BROWSER = Path("/usr/bin/chromium")
_COLOUR = re.compile("\x1b\\[[0-9;]*m")
_turn = threading.Lock()


class Suite(NamedTuple):
    """Tests that share an environment and a run of pytest.

    Attributes:
        name: What to call it.
        environment: Below `.venvs/`.
        files: A folder, or a pattern of files.
        lane: Suites of a lane run one after the other, lanes side by side.
        workers: How many files of it are tested at once.
    """

    name: str
    environment: str
    files: str
    lane: str
    workers: int = 1


SUITES = (
    Suite("core", "core", "tests/core", "core", workers=2),
    Suite("core-e2e", "core", "tests/end_to_end/test_core_*.py", "core"),
    # Wheels and sdists of a clone, in environments of their own.
    Suite("install", "core", "tests/install", "hosts"),
    Suite("airflow", "airflow", "tests/airflow_provider", "hosts"),
    Suite("prefect", "prefect", "tests/prefect_collection", "hosts"),
    # Airflow runs as processes of its own environment; the tests only ask its API.
    Suite("airflow-e2e", "core", "tests/end_to_end/test_airflow_*.py", "hosts"),
    Suite("prefect-e2e", "prefect", "tests/end_to_end/test_prefect_*.py", "hosts"),
)


def main(wanted: list[str]) -> int:
    """Run the suites that are wanted, all without a name; return the exit code."""
    quick = "--quick" in wanted
    wanted = [name for name in wanted if name != "--quick"]
    unknown = set(wanted) - {suite.name for suite in SUITES}
    if unknown:
        names = ", ".join(suite.name for suite in SUITES)
        print(f"no suite {', '.join(sorted(unknown))}; there are {names}")
        return 2
    warning = _bring_browser()
    chosen = [suite for suite in SUITES if not wanted or suite.name in wanted]
    lanes = {
        suite.lane: [s for s in chosen if s.lane == suite.lane] for suite in chosen
    }
    with ThreadPoolExecutor(max(len(lanes), 1)) as pool:
        endings = [
            end
            for ends in pool.map(partial(_run_lane, quick=quick), lanes.values())
            for end in ends
        ]
    print("\n" + "\n".join(line for _, line in endings))
    if warning:
        print(f"NOT TESTED: {warning}")
    return int(any(code not in (0, NO_TESTS) for code, _ in endings))


def _run_lane(suites: list[Suite], *, quick: bool) -> list[tuple[int, str]]:
    return [_run(suite, quick=quick) for suite in suites]


def _say(suite: Suite, line: str) -> None:
    with _turn:
        print(f"{suite.name:11} │ {line}", flush=True)


def _run(suite: Suite, *, quick: bool) -> tuple[int, str]:
    """Run a suite; return its exit code and a line about it."""
    _say(suite, f"━━━ {suite.files} in .venvs/{suite.environment}")
    files = [str(file.relative_to(ROOT)) for file in sorted(ROOT.glob(suite.files))]
    if not files:
        return NO_TESTS, f"{suite.name:11} no tests"
    chosen = [*files, "-m", "not nightly"] if quick else files
    at_once = [f"--numprocesses={suite.workers}", "--dist=loadfile"]
    began = time.monotonic()
    code, lines = _pytest(
        suite, ["--durations=40", *chosen, *(at_once if suite.workers > 1 else [])]
    )
    summary = lines[-1].strip("= ") if lines else ""
    unstable = _failed(lines) if quick and code == FAILED_TESTS else []
    if 0 < len(unstable) <= RERUN_AT_MOST:
        _say(suite, f"━━━ again, on their own: {len(unstable)} that failed")
        code, _ = _pytest(
            suite, ["--last-failed", "--last-failed-no-failures=none", *chosen]
        )
        if code == 0:
            summary += "".join(
                f"\n{'':11} UNSTABLE  passed when run again: {test}"
                for test in unstable
            )
    took = time.monotonic() - began
    ending = "ok" if code == 0 else "no tests" if code == NO_TESTS else "FAILED"
    return code, f"{suite.name:11} {ending:9} {took:4.0f} s   {summary}"


def _failed(lines: list[str]) -> list[str]:
    """Return what pytest's summary says of each test that failed, or had an error.

    Lines that a test had logged may begin with the same word.
    """
    plain = [_COLOUR.sub("", line) for line in lines]
    return [line for line in plain if line.startswith(("FAILED tests", "ERROR tests"))]


def _pytest(suite: Suite, arguments: list[str]) -> tuple[int, list[str]]:
    """Run pytest, printing each line; return its exit code and the lines that hold text."""
    # In the folder that runs of pytest share, each removes old folders, which others may use.
    folder = Path(tempfile.mkdtemp(prefix="pytest-"))
    command = [
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
    lines = []
    with subprocess.Popen(
        command, cwd=ROOT, env=environ, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL
    ) as process:
        assert process.stdout is not None  # noqa: S101 - for mypy: it is a pipe
        for raw in process.stdout:
            line = raw.decode(errors="replace").rstrip("\n")
            _say(suite, line)
            if line.strip():
                lines.append(line)
    if process.returncode in (0, NO_TESTS):  # else it is there to be looked at
        shutil.rmtree(folder, ignore_errors=True)
    return process.returncode, lines


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
