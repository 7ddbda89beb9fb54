"""The three distributions as strangers get them: built from a clone, installed alone."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email import message_from_bytes
from email.message import Message
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
UV = os.environ.get("UV", str(ROOT / "tools" / "uv"))
MEMBERS = {
    "core": "dask-blackbox",
    "airflow_provider": "airflow-provider-dask-blackbox",
    "prefect_collection": "prefect-dask-blackbox",
}


def uv(*words: str | Path, cwd: Path = ROOT) -> None:
    done = subprocess.run(
        [UV, *map(str, words)], cwd=cwd, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with wheels and sdists, built from what git has of this tree."""
    clone = tmp_path_factory.mktemp("clone")
    names = subprocess.run(
        [
            "git",
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
            *MEMBERS,
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    for name in filter(None, names.split("\0")):
        if (ROOT / name).is_file():
            (clone / name).parent.mkdir(parents=True, exist_ok=True)
            (clone / name).write_bytes((ROOT / name).read_bytes())
    for member in MEMBERS:
        # The wheel is built from the sdist: what is missing there is missing here.
        uv("build", "--quiet", "--out-dir", clone / "dist", clone / member, cwd=clone)
    return clone / "dist"


def wheel_of(built: Path, name: str) -> Path:
    [found] = built.glob(f"{name.replace('-', '_')}-*.whl")
    return found


def metadata_of(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        [name] = [n for n in archive.namelist() if n.endswith(".dist-info/METADATA")]
        return message_from_bytes(archive.read(name))


def project_of(member: str) -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads(
        (ROOT / member / "pyproject.toml").read_text()
    )["project"]
    return found


@pytest.mark.parametrize("name", MEMBERS.values())
def test_a_wheel_has_its_metadata_and_the_license(built: Path, name: str) -> None:
    [member] = [each for each in MEMBERS if MEMBERS[each] == name]
    wheel = wheel_of(built, name)
    reported = metadata_of(wheel)
    urls = " ".join(reported.get_all("Project-URL") or [])

    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        [license_file] = [n for n in names if n.endswith("/LICENSE")]
        assert archive.read(license_file) == (ROOT / "LICENSE").read_bytes()
        [notice] = [n for n in names if n.endswith("/NOTICE")]
        assert archive.read(notice) == (ROOT / member / "NOTICE").read_bytes()
    assert any(n.endswith("/py.typed") for n in names)
    assert reported["License-Expression"] == "Apache-2.0"
    assert {"Homepage", "Documentation", "Changelog", "Issues"} <= set(
        re.findall(r"(\w+),", urls)
    )
    assert len(reported.get_all("Classifier") or []) > 10
    assert reported["Keywords"]


@pytest.mark.parametrize("name", MEMBERS.values())
def test_an_sdist_holds_what_builds_it_and_nothing_else(built: Path, name: str) -> None:
    [sdist] = built.glob(f"{name.replace('-', '_')}-*.tar.gz")

    with tarfile.open(sdist) as archive:
        tops = {n.split("/")[1] for n in archive.getnames() if "/" in n}

    assert tops - {".gitignore"} == {
        "LICENSE",
        "NOTICE",
        "PKG-INFO",
        "README.md",
        "pyproject.toml",
        "src",
    }


def test_there_is_one_version() -> None:
    projects = [project_of(member) for member in MEMBERS]
    [version] = {each["version"] for each in projects}
    pins = [
        requirement
        for each in projects[1:]
        for group in (each["dependencies"], *each["optional-dependencies"].values())
        for requirement in group
        if requirement.startswith("dask-blackbox")
    ]

    assert len(pins) == 10
    assert all(each.endswith(f"=={version}") for each in pins)


def installed(built: Path, folder: Path, what: str) -> Path:
    """Install a distribution into a new environment; return its `bin`."""
    uv("venv", "--quiet", "--python", sys.executable, folder)
    uv("pip", "install", "--quiet", "--python", folder / "bin" / "python",
       "--find-links", built, what)  # fmt: skip
    return folder / "bin"


def output_of(
    *words: str | Path, cwd: Path, **more: Any
) -> subprocess.CompletedProcess[str]:
    environ = {
        k: v for k, v in os.environ.items() if k not in {"PYTHONPATH", "VIRTUAL_ENV"}
    }
    return subprocess.run(
        list(map(str, words)), cwd=cwd, env=environ, capture_output=True, text=True,
        check=False, **more,
    )  # fmt: skip


def readme_script() -> str:
    blocks = re.findall(
        r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL
    )
    return str(blocks[0])


def test_the_readmes_examples_work_after_pip_install(
    built: Path, tmp_path: Path
) -> None:
    bin_ = installed(built, tmp_path / "venv", "dask-blackbox")
    (tmp_path / "first.py").write_text(readme_script())

    first = output_of(bin_ / "python", "first.py", cwd=tmp_path)
    shown = output_of(bin_ / "dask", "blackbox", "why", "--store", "runs", cwd=tmp_path)
    bucket = output_of(
        bin_ / "dask", "blackbox", "ls", "--store", "s3://dask-runs/etl", cwd=tmp_path
    )
    viewer = output_of(
        bin_ / "dask", "blackbox", "serve", "--store", "runs", cwd=tmp_path
    )

    assert "ZeroDivisionError" in first.stderr
    assert shown.returncode == 0, shown.stderr
    assert "ZeroDivisionError" in shown.stdout
    # What only some need is an extra, and that is said.
    assert bucket.returncode == 2
    assert "pip install 'dask-blackbox[s3]'" in bucket.stderr
    assert viewer.returncode == 2
    assert "pip install 'dask-blackbox[serve]'" in viewer.stderr


@pytest.mark.parametrize(
    ("name", "module"),
    [
        ("airflow-provider-dask-blackbox", "airflow_dask_blackbox"),
        ("prefect-dask-blackbox", "prefect_dask_blackbox"),
    ],
)
def test_a_host_s_package_installs_alone(
    built: Path, tmp_path: Path, name: str, module: str
) -> None:
    bin_ = installed(built, tmp_path / "venv", name)
    code = (
        f"import json, {module}; from importlib.metadata import version; "
        f"print(json.dumps(version({name!r})))"
    )

    said = output_of(
        bin_ / "python", "-W", "error::ImportWarning", "-c", code, cwd=tmp_path
    )

    assert said.returncode == 0, said.stderr
    assert json.loads(said.stdout.splitlines()[-1]) == project_of("core")["version"]
