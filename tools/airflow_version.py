"""The provider on one version of Airflow: from wheels, in an environment of its own.

The environment is outside the repository, so that nothing of the tree is imported by
accident.  Airflow is installed as its documentation says, with its constraints; where
those cannot be downloaded, with what was on the index a few days before its release.  Ours is
installed beside it, and changes nothing that Airflow needs.  Then: does everything import,
does Airflow find provider and plugin, do the provider's tests pass (tasks by `dag.test()`,
the tab's pages), and with `--end-to-end` the ones with a scheduler and a browser.

    python3 tools/airflow_version.py 3.1.1
    python3 tools/airflow_version.py 3.1.1 --keep /tmp/airflow-3.1.1 --end-to-end
    python3 tools/airflow_version.py 3.1.1 --names    # what it exports
    python3 tools/airflow_version.py newest    # of all on the index, pre-releases too
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
UV = str(ROOT / "tools" / "uv")
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
CONSTRAINTS = "https://raw.githubusercontent.com/apache/airflow/constraints-{version}/constraints-{python}.txt"
INDEX = "https://pypi.org/simple/{project}/"
AIRFLOW = ("apache-airflow", "apache-airflow-core", "apache-airflow-task-sdk")
MEMBERS = ("core", "airflow_provider")
POLICIES = (3, 3)
"""The first version that asks a retry policy."""
SEEN = """
import importlib, pkgutil, sys
import airflow, airflow_dask_blackbox, dask_blackbox
for package in (airflow_dask_blackbox, dask_blackbox):
    assert "site-packages" in package.__file__, package.__file__
for module in pkgutil.walk_packages(airflow_dask_blackbox.__path__, "airflow_dask_blackbox."):
    try:
        importlib.import_module(module.name)
    except ImportError as error:
        missing = {"retry_policy": "RetryPolicy"}.get(module.name.rpartition(".")[2])
        if missing is None or missing not in str(error):
            raise
from airflow.plugins_manager import AirflowPlugin
from airflow.providers_manager import ProvidersManager
from importlib.metadata import entry_points
assert "airflow-provider-dask-blackbox" in ProvidersManager().providers
(plugin,) = [e.load() for e in entry_points(group="airflow.plugins") if e.name == "dask_blackbox"]
# Airflow 3.2 has that class twice, the SDK's and its own, and goes by the name, too.
assert AirflowPlugin.__name__ in [base.__name__ for base in plugin.__mro__]
assert plugin().fastapi_apps and plugin().external_views
print(f"Airflow {airflow.__version__}: imported, provider and plugin found")
"""
NAMES = """
import importlib
for module in (
    "airflow.configuration", "airflow.exceptions", "airflow.plugins_manager",
    "airflow.providers.standard.operators.python", "airflow.sdk", "airflow.sdk.bases.decorator",
    "airflow.sdk.bases.notifier", "airflow.sdk.bases.operator", "airflow.sdk.exceptions",
    "airflow.sdk.execution_time", "airflow.sdk.execution_time.comms",
    "airflow.sdk.execution_time.secrets_masker", "airflow.sdk.execution_time.xcom",
    "airflow.api_fastapi.app", "airflow.api_fastapi.common.db.common",
    "airflow.api_fastapi.core_api.security", "airflow.api_fastapi.auth.managers.models.resource_details",
    "airflow.models.renderedtifields", "airflow.models.taskinstance",
    "airflow.models.taskinstancehistory", "airflow.models.xcom", "airflow.utils.session",
):
    try:
        found = importlib.import_module(module)
    except ImportError:
        continue
    names = {*getattr(found, "__all__", ()), *dir(found)}
    print("\\n".join(f"{module}:{name}" for name in sorted(names) if not name.startswith("_")))
"""


def main() -> int:
    """Return the exit code: of the first step that failed, else 0."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("version")
    parser.add_argument("--names", action="store_true", help="print names and stop")
    parser.add_argument("--constraints", help="a file or URL; default: Airflow's own")
    parser.add_argument(
        "--keep", type=Path, help="environment to make, or to use again"
    )
    parser.add_argument(
        "--end-to-end", action="store_true", help="also a scheduler and a browser"
    )
    parser.add_argument("tests", nargs="*", help="for pytest; default: all")
    asked = parser.parse_intermixed_args()
    if asked.version == "newest":
        asked.version = newest()
        print(f"Airflow {asked.version}", file=sys.stderr)
    with folder(asked.keep) as environment:
        bin_folder = environment / "bin"
        if not (bin_folder / "airflow").exists():
            make(environment, asked.version, asked.constraints)
        if not asked.names:
            install_ours(environment)
        return run(bin_folder, asked)


@contextmanager
def folder(kept: Path | None) -> Iterator[Path]:
    """Give the environment's folder, removed afterwards unless it is to be kept."""
    if kept is not None:
        yield kept.absolute()
        return
    with tempfile.TemporaryDirectory(prefix="airflow-version-") as temporary:
        yield Path(temporary) / "environment"


def run(bin_folder: Path, asked: argparse.Namespace) -> int:
    """Run the steps."""
    python = str(bin_folder / "python")
    home = bin_folder.parent / "home"
    environ = {
        **{name: v for name, v in os.environ.items() if not name.startswith("AIRFLOW")},
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{home}/airflow.db",
    }
    if asked.names:
        return subprocess.call([python, "-c", NAMES], cwd=home.parent, env=environ)
    tests = asked.tests or [str(ROOT / "tests" / "airflow_provider")]
    version = tuple(int(part) for part in asked.version.split(".")[:2])
    left = ["--ignore-glob=*/test_retry_policy.py"] if version < POLICIES else []
    # Older versions warn of what their own newer dependencies have deprecated.
    steps = [
        [python, "-c", SEEN],
        [python, "-m", "pytest", "-W", "default", *tests, *left],
    ]
    if asked.end_to_end:
        core = str(ROOT / ".venvs" / "core" / "bin" / "python")
        files = sorted((ROOT / "tests" / "end_to_end").glob("test_airflow_*.py"))
        steps.append([core, "-m", "pytest", "-v", *map(str, files)])
    environ["AIRFLOW_COMMANDS"] = str(bin_folder)
    for step in steps:
        if code := subprocess.call(step, cwd=ROOT, env=environ):
            return code
    return 0


def make(environment: Path, version: str, constraints: str | None) -> None:
    """Make the environment with Airflow in it."""
    subprocess.check_call([UV, "venv", "--quiet", "--python", PYTHON, str(environment)])
    where = constraints or CONSTRAINTS.format(version=version, python=PYTHON)
    limit = ["--constraint", where]
    if "://" in where and not reachable(where):
        limit = as_of(released(version))
        print(f"{where} is out of reach: {' '.join(limit)} instead", file=sys.stderr)
    install(environment, *limit, f"apache-airflow=={version}", *pre_releases(version))
    frozen = subprocess.check_output(
        [UV, "pip", "freeze", "--python", str(environment)], text=True
    )
    (environment / "constraints.txt").write_text(frozen)


def pre_releases(version: str) -> list[str]:
    """Return requirements that allow pre-releases of Airflow's own packages, and no others."""
    if version.replace(".", "").isdigit():
        return []
    return [f"apache-airflow-core=={version}", "apache-airflow-task-sdk>=1.0.0a0"]


def install_ours(environment: Path) -> None:
    """Install wheels of this tree; what Airflow needs keeps its version."""
    wheels = environment / "wheels"
    for old in wheels.glob("*.whl"):
        old.unlink()
    for member in MEMBERS:
        command = [UV, "build", "--quiet", "--wheel", "--out-dir", str(wheels)]
        subprocess.check_call([*command, str(ROOT / member)])
    core, provider = (str(next(wheels.glob(f"{n}-*.whl"))) for n in wheel_names())
    pinned = str(environment / "constraints.txt")
    again = ("--reinstall-package", "dask-blackbox")
    more = ("--reinstall-package", "airflow-provider-dask-blackbox")
    install(
        environment,
        *("--constraint", pinned, *again, *more),
        *(f"dask-blackbox[s3,serve,testing] @ file://{core}", provider),
    )
    subprocess.check_call([UV, "pip", "check", "--python", str(environment)])


def wheel_names() -> tuple[str, str]:
    """Return how the wheels' names begin."""
    return "dask_blackbox", "airflow_provider_dask_blackbox"


def install(environment: Path, *what: str) -> None:
    """Install packages into the environment."""
    command = [UV, "pip", "install", "--quiet", "--compile-bytecode"]
    command += ["--python", str(environment)]
    # Outside the repository: its settings are for its own environments.
    subprocess.check_call([*command, *what], cwd=environment)


def reachable(url: str) -> bool:
    """Return whether there is something at an address."""
    try:
        with urllib.request.urlopen(url, timeout=20):  # noqa: S310 - Airflow's constraints
            return True
    except OSError:
        return False


def as_of(moment: datetime) -> list[str]:
    """Return arguments for the packages that Airflow was released with.

    Its constraints are frozen when the vote on a release begins, some days before.
    """
    general = (moment - timedelta(days=4)).date().isoformat()
    own = (moment + timedelta(days=1)).date().isoformat()
    each = [("--exclude-newer-package", f"{name}={own}") for name in AIRFLOW]
    return ["--exclude-newer", general, *(word for pair in each for word in pair)]


def newest(project: str = "apache-airflow") -> str:
    """Return the highest version on the index, pre-releases included."""
    wheels = [each["filename"] for each in files_of(project)]
    versions = {name.split("-")[1] for name in wheels if name.endswith(".whl")}
    return max(versions, key=_order)


def _order(version: str) -> tuple[list[int], bool, str]:
    release = re.match(r"[\d.]*\d", version)
    number = release[0] if release else "0"
    return [int(part) for part in number.split(".")], number == version, version


def released(version: str, project: str = "apache-airflow") -> datetime:
    """Return when a version of Airflow, or of another project, came out, by the index."""
    name = f"{project.replace('-', '_')}-{version}-py3-none-any.whl"
    (found,) = [
        each["upload-time"] for each in files_of(project) if each["filename"] == name
    ]
    return datetime.fromisoformat(found)


def files_of(project: str) -> list[dict[str, str]]:
    """Return the files of a project on the index."""
    request = urllib.request.Request(  # noqa: S310 - the package index
        INDEX.format(project=project),
        headers={"Accept": "application/vnd.pypi.simple.v1+json"},
    )
    with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
        files: list[dict[str, str]] = json.load(answer)["files"]
    return files


if __name__ == "__main__":
    sys.exit(main())
