"""Runs on an `SSHCluster` and a real OpenSSH server, with asyncssh in an environment of its own.

Without Debian's package `openssh-server`, nothing here is tested, and says so.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from conditions import scaled, until
from dask_blackbox.reader import Run
from environments_with_core import python_with_core
from ssh_server import Server, program, ssh_server

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.timeout(600),
    pytest.mark.skipif(not program(), reason="NOT TESTED: SSHCluster (no sshd)"),
]
SCRIPT = Path(__file__).parents[1] / "support" / "ssh_run.py"
PACKAGES = ("asyncssh==2.24.1",)
ENDINGS = [
    "close",
    pytest.param(
        "scale-down",
        marks=pytest.mark.skipif(
            os.getuid() == 0,
            reason="NOT TESTED: SSHCluster.scale (sshd passes no signal on to root's programs)",
        ),
    ),
]


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the interpreter of an environment with this package and asyncssh."""
    return python_with_core(tmp_path_factory.mktemp("environment"), *PACKAGES)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with ssh_server(tmp_path_factory.mktemp("sshd")) as running:
        yield running


def recorded(
    python: Path, server: Server, folder: Path, ending: str, *by: object, **env: str
) -> tuple[Run, str]:
    """Return the recording of a run, and what it printed.

    Args:
        by: Words of the command that records it, if one does.
        env: Settings of Dask, as variables without `DASK_`.
    """
    words = (*by, python, SCRIPT, server.port, server.key, ending)
    environ = os.environ | {f"DASK_{name}": value for name, value in env.items()}
    done = subprocess.run(
        [*map(str, words)], env=environ, capture_output=True, text=True, check=False,
        timeout=scaled(300), cwd=folder,
    )  # fmt: skip
    runs = folder / "store" / "runs" / "job=nightly"
    [complete] = until(
        lambda: [*runs.glob("*/attempt=1/complete.json")], describe=lambda: done.stderr
    )
    return Run.open(str(complete.parent)), done.stderr[-3_000:]


@pytest.mark.parametrize("ending", ENDINGS)
def test_nothing_is_found_in_a_run_that_ends_its_workers(
    python: Path, server: Server, tmp_path: Path, ending: str
) -> None:
    run = (python.parent / "dask", "blackbox", "run", "--store", tmp_path / "store")
    found, printed = recorded(
        python, server, tmp_path, ending, *run, "--job", "nightly", "--"
    )

    assert found.state == "succeeded", printed
    assert found.findings() == ()


def test_a_worker_that_is_killed_with_its_nanny_is_named_with_its_host(
    python: Path, server: Server, tmp_path: Path
) -> None:
    run = (python.parent / "dask", "blackbox", "run", "--store", tmp_path / "store")
    found, printed = recorded(
        python, server, tmp_path, "lost", *run, "--job", "nightly", "--"
    )

    assert found.state == "failed", printed
    verdict = found.findings()[0]
    assert (verdict.rule, verdict.confidence) == ("worker-host-lost", "high")
    assert "together with its nanny" in verdict.title
    assert "127.0.0.1" in verdict.remedy


@pytest.mark.parametrize("ending", ENDINGS)
def test_nothing_is_found_in_a_run_that_its_scheduler_records(
    python: Path, server: Server, tmp_path: Path, ending: str
) -> None:
    found, printed = recorded(
        python, server, tmp_path, ending,
        DISTRIBUTED__SCHEDULER__PRELOAD="['dask_blackbox.preload']",
        BLACKBOX__STORE__URL=str(tmp_path / "store"),
        BLACKBOX__JOB="nightly",
    )  # fmt: skip

    assert found.state == "succeeded", printed
    assert found.findings() == ()
