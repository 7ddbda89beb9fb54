"""`.ci/run` tests the project as a fresh machine would: nothing installed by hand helps."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from conditions import scaled

CLEAN = Path(__file__).parents[2] / ".ci" / "clean"


def in_clean(command: str, **environment: str) -> str:
    """Return what a shell command prints in the clean surroundings."""
    done = subprocess.run(
        [CLEAN, "sh", "-c", command],
        env=os.environ | environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
        timeout=scaled(60),
    )
    return done.stdout.strip()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return a user's home: a tool installed by hand, and how to reach an index."""
    tool = tmp_path / ".local" / "bin" / "uv-by-hand"
    tool.parent.mkdir(parents=True)
    tool.write_text("#!/bin/sh\necho found\n")
    tool.chmod(0o755)
    pip = tmp_path / ".config" / "pip" / "pip.conf"
    pip.parent.mkdir(parents=True)
    pip.write_text("[global]\nindex-url = https://mirror.example/simple\n")
    return tmp_path


def test_a_tool_installed_by_hand_is_not_found(home: Path) -> None:
    path = f"{home}/.local/bin:{os.environ['PATH']}"
    ask = "command -v uv-by-hand || echo absent"

    assert subprocess.check_output(
        ["sh", "-c", ask], env={"PATH": path}, text=True
    ) == (f"{home}/.local/bin/uv-by-hand\n")
    assert in_clean(ask, HOME=str(home), PATH=path) == "absent"


def test_python_git_and_make_work_wherever_they_are(home: Path) -> None:
    output = in_clean(
        "python3 -c 'import ssl, venv; print(1)' && git --version && make --version",
        HOME=str(home),
    )

    assert output.startswith("1\ngit version ")
    assert "GNU Make" in output


def test_the_home_is_empty_but_for_how_to_reach_an_index(home: Path) -> None:
    output = in_clean("echo $HOME; cd; find . -type f | xargs cat", HOME=str(home))

    clean_home, *files = output.splitlines()
    assert clean_home != str(home)
    assert files == ["[global]", "index-url = https://mirror.example/simple"]
    assert not Path(clean_home).exists()


def test_only_variables_for_packages_text_and_time_come_along(home: Path) -> None:
    output = in_clean(
        "env",
        HOME=str(home),
        AWS_PROFILE="mine",
        PYTHONPATH="/by/hand",
        DASK_SCHEDULER_ADDRESS="tcp://by-hand:8786",
        UV_DEFAULT_INDEX="https://mirror.example/simple",
        PIP_EXTRA_INDEX_URL="https://more.example/simple",
        https_proxy="http://proxy.example:3128",
        SSL_CERT_FILE="/certificates.pem",
        CI="true",
    )

    variables = dict(line.split("=", 1) for line in output.splitlines() if "=" in line)
    assert not {"AWS_PROFILE", "PYTHONPATH", "DASK_SCHEDULER_ADDRESS"} & set(variables)
    assert variables["UV_DEFAULT_INDEX"] == "https://mirror.example/simple"
    assert variables["PIP_EXTRA_INDEX_URL"] == "https://more.example/simple"
    assert variables["https_proxy"] == "http://proxy.example:3128"
    assert variables["SSL_CERT_FILE"] == "/certificates.pem"
    assert variables["CI"] == "true"


def test_it_exits_as_its_command_does() -> None:
    done = subprocess.run(
        [CLEAN, "sh", "-c", "exit 7"], check=False, timeout=scaled(60)
    )

    assert done.returncode == 7
