"""Everything that can be said of the code without running it; all of it is said.

.venvs/core/bin/python tools/lint.py
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = "core/src:airflow_provider/src:prefect_collection/src:failure_benchmark/src"
TYPED = {
    "core": [
        "core/src",
        "failure_benchmark/src",
        "failure_benchmark/diagnosers",
        "failure_benchmark/tests",
        "failure_benchmark/tools",
        "benchmarks",
        "demo",
        "tools",
        "tests/conftest.py",
        "tests/core",
        "tests/install",
        "tests/support",
        "tests/end_to_end/test_airflow_*.py",
        "tests/end_to_end/test_core_*.py",
    ],
    "airflow": [
        "airflow_provider/src",
        "dags",
        "tests/airflow_provider",
        "tests/support/per_dag_auth.py",
    ],
    "prefect": [
        "prefect_collection/src",
        "flows",
        "tests/prefect_collection",
        "tests/end_to_end/test_prefect_*.py",
    ],
}
"""What mypy reads with the libraries of which environment."""


def main() -> int:
    """Run every check; return 1 if one of them found something."""
    checks = [
        ["ruff", "format", "--check"],
        ["ruff", "check"],
        ["lint-imports", "--no-cache"],
        ["python", "tools/metrics.py", "--check"],
        *(_mypy(environment, paths) for environment, paths in TYPED.items()),
    ]
    return int(sum(_found_something(check) for check in checks) > 0)


def _mypy(environment: str, paths: list[str]) -> list[str]:
    python = f".venvs/{environment}/bin/python"
    cache = f".mypy_cache/{environment}"
    there = [str(file.relative_to(ROOT)) for path in paths for file in ROOT.glob(path)]
    return ["mypy", "--python-executable", python, "--cache-dir", cache, *there]


def _found_something(check: list[str]) -> bool:
    print(f"━━━ {' '.join(check)}", flush=True)
    tool, *arguments = check
    done = subprocess.run(
        [f".venvs/lint/bin/{tool}", *arguments],
        cwd=ROOT,
        # What import-linter reads is not installed where it is.
        env=os.environ | {"PYTHONPATH": SOURCES},
        stdin=subprocess.DEVNULL,
        check=False,
    )
    return done.returncode != 0


if __name__ == "__main__":
    sys.exit(main())
