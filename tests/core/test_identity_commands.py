"""The job is what a command runs, not what starts it."""

from __future__ import annotations

import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest
from dask_blackbox.identity import argv_of, identity_from_environment, started_as

COMMANDS: dict[str, Any] = tomllib.loads(
    (Path(__file__).parent / "data" / "commands.toml").read_text("utf-8")
)


def job_of(command: str) -> str:
    return identity_from_environment({}, started_as(shlex.split(command))).job


@pytest.mark.parametrize("starts", COMMANDS["starts"])
def test_a_script_gives_the_name_whatever_starts_it(starts: str) -> None:
    assert job_of(f"{starts} jobs/etl.py --day 3 -m x") == "etl"
    argv = argv_of(shlex.split(f"{starts} jobs/etl.py --day 3"))
    assert argv == ["jobs/etl.py", "--day", "3"]


@pytest.mark.parametrize(("command", "job"), COMMANDS["jobs"].items())
def test_a_command_is_named_after_what_it_runs(command: str, job: str) -> None:
    assert job_of(command) == job
