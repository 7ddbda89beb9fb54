"""The provider's tests on one version of Airflow, in an environment of its own.

Without the lock: Airflow's own constraints of that version decide, where they can be had.

    python3 tools/airflow_version.py 3.1.1            # makes .venvs/airflow-3.1.1, runs the tests
    python3 tools/airflow_version.py 3.1.1 --names    # prints the names that it exports
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CONSTRAINTS = "https://raw.githubusercontent.com/apache/airflow/constraints-{version}/constraints-{python}.txt"
POLICIES = (3, 3)
"""The first version that asks a retry policy."""
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
    """Return pytest's exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("version")
    parser.add_argument("--names", action="store_true", help="print names and stop")
    parser.add_argument("--constraints", help="a file or URL; default: Airflow's own")
    asked = parser.parse_args()
    python = ROOT / ".venvs" / f"airflow-{asked.version}" / "bin" / "python"
    if not python.exists():
        make(python, asked.version, asked.constraints)
    if asked.names:
        return subprocess.call([python, "-c", NAMES], cwd=ROOT)
    tests = [ROOT / "tests" / "airflow_provider"]
    version = tuple(int(part) for part in asked.version.split(".")[:2])
    left = [f"--ignore={tests[0]}/test_retry_policy.py"] if version < POLICIES else []
    # Older versions warn of what their own newer dependencies have deprecated.
    command = [str(python), "-m", "pytest", "-W", "default", *map(str, tests), *left]
    return subprocess.call(command, cwd=ROOT)


def make(python: Path, version: str, constraints: str | None) -> None:
    """Make the environment: Airflow as constrained, then ours beside it."""
    uv = str(ROOT / "tools" / "uv")
    own = f"{sys.version_info.major}.{sys.version_info.minor}"
    where = constraints or CONSTRAINTS.format(version=version, python=own)
    into = ["--python", str(python)]
    frozen = python.parent.parent / "constraints.txt"
    subprocess.check_call(
        [uv, "venv", "--quiet", "--python", own, str(frozen.parent)], cwd=ROOT
    )
    airflow = f"apache-airflow=={version}"
    subprocess.check_call([uv, "pip", "install", *into, "-c", where, airflow], cwd=ROOT)
    frozen.write_text(
        subprocess.check_output([uv, "pip", "freeze", *into], cwd=ROOT, text=True)
    )
    # What Airflow does not need may be newer than its constraints; what it needs may not.
    subprocess.check_call(
        [uv, "pip", "install", *into, "-c", str(frozen), "./core[testing]"], cwd=ROOT
    )
    subprocess.check_call(
        [
            uv,
            "pip",
            "install",
            *into,
            "--no-deps",
            "-e",
            "core",
            "-e",
            "airflow_provider",
        ],
        cwd=ROOT,
    )


if __name__ == "__main__":
    sys.exit(main())
