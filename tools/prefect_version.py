"""The collection on one version of Prefect: from wheels, in an environment of its own.

The environment is outside the repository, so that nothing of the tree is imported by
accident.  Prefect is installed with what was on the package index the day after its
release: its server does not work with each newer version that its requirements allow.  Ours is
installed beside it, and changes nothing that Prefect needs.  Then: does everything import,
and do the collection's tests pass, with a real server of that version.

    python3 tools/prefect_version.py 3.4.7
    python3 tools/prefect_version.py 3.4.7 --keep /tmp/prefect-3.4.7 tests/prefect_collection/test_flows.py
    python3 tools/prefect_version.py 3.4.7 --end-to-end
    python3 tools/prefect_version.py 3.9.1 --override certifi  # its newest is not on the index
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

from airflow_version import PYTHON, ROOT, UV, folder, install, released

MEMBERS = ("core", "prefect_collection")
SEEN = """
import importlib, pkgutil
import dask_blackbox, distributed, prefect, prefect_dask, prefect_dask_blackbox
for package in (prefect_dask_blackbox, dask_blackbox):
    assert "site-packages" in package.__file__, package.__file__
for module in pkgutil.walk_packages(prefect_dask_blackbox.__path__, "prefect_dask_blackbox."):
    importlib.import_module(module.name)
versions = [prefect.__version__, prefect_dask.__version__, distributed.__version__]
print("imported on Prefect {}, prefect-dask {}, distributed {}".format(*versions))
"""


def main() -> int:
    """Return the exit code: of the first step that failed, else 0."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("version")
    parser.add_argument(
        "--keep", type=Path, help="environment to make, or to use again"
    )
    parser.add_argument(
        "--end-to-end", action="store_true", help="also those with a browser"
    )
    parser.add_argument(
        "--override",
        action="append",
        default=[],
        help="a requirement that replaces what any package requires of that project",
    )
    parser.add_argument("tests", nargs="*", help="for pytest; default: all")
    asked = parser.parse_intermixed_args()
    with folder(asked.keep) as environment:
        if not (environment / "bin" / "prefect").exists():
            make(environment, asked.version, asked.override)
        install_ours(environment)
        return run(environment / "bin", asked)


def make(environment: Path, version: str, overrides: list[str]) -> None:
    """Make the environment with Prefect in it, and what there was when it came out."""
    subprocess.check_call([UV, "venv", "--quiet", "--python", PYTHON, str(environment)])
    (environment / "overrides.txt").write_text("\n".join(overrides))
    day = (released(version, "prefect") + timedelta(days=1)).date().isoformat()
    install(
        environment,
        *("--exclude-newer", day, "--override", "overrides.txt"),
        f"prefect=={version}",
        "prefect-dask>=0.3.6",
    )
    frozen = subprocess.check_output(
        [UV, "pip", "freeze", "--python", str(environment)], text=True
    )
    (environment / "constraints.txt").write_text(frozen)


def install_ours(environment: Path) -> None:
    """Install wheels of this tree; what Prefect needs keeps its version."""
    wheels = environment / "wheels"
    for old in wheels.glob("*.whl"):
        old.unlink()
    for member in MEMBERS:
        command = [UV, "build", "--quiet", "--wheel", "--out-dir", str(wheels)]
        subprocess.check_call([*command, str(ROOT / member)])
    names = ("dask_blackbox", "prefect_dask_blackbox")
    core, ours = (str(next(wheels.glob(f"{name}-*.whl"))) for name in names)
    again = [("--reinstall-package", name.replace("_", "-")) for name in names]
    install(
        environment,
        *("--constraint", "constraints.txt", "--override", "overrides.txt"),
        *(word for pair in again for word in pair),
        *(f"dask-blackbox[s3,serve,testing] @ file://{core}", ours),
    )
    if not (environment / "overrides.txt").read_text():
        subprocess.check_call([UV, "pip", "check", "--python", str(environment)])


def run(bin_folder: Path, asked: argparse.Namespace) -> int:
    """Run the steps."""
    python = str(bin_folder / "python")
    tests = asked.tests or [str(ROOT / "tests" / "prefect_collection")]
    if asked.end_to_end:
        files = sorted((ROOT / "tests" / "end_to_end").glob("test_prefect_*.py"))
        tests += [str(file) for file in files]
    # Older versions warn of what their own newer dependencies have deprecated.
    steps = [[python, "-c", SEEN], [python, "-m", "pytest", "-W", "default", *tests]]
    for step in steps:
        if code := subprocess.call(step, cwd=ROOT, env=dict(os.environ)):
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main())
