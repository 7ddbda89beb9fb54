"""Check that a tag, the three distributions and the changelog agree on one version.

python tools/release_check.py v0.1.0
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MEMBERS = ("core", "airflow_provider", "prefect_collection")


def problems(tag: str) -> list[str]:
    """Return what does not agree with a tag."""
    version = tag.removeprefix("v")
    found = []
    for member in MEMBERS:
        text = (ROOT / member / "pyproject.toml").read_text()
        project = tomllib.loads(text)["project"]
        if project["version"] != version:
            found.append(f"{member} is {project['version']}, not {version}")
        pins = re.findall(r'"dask-blackbox(?:\[\w+\])?==([^"]+)"', text)
        found += [
            f"{member} pins dask-blackbox {pin}" for pin in pins if pin != version
        ]
    if f"## [{version}]" not in (ROOT / "CHANGELOG.md").read_text():
        found.append(f"CHANGELOG.md has no heading [{version}]")
    return found


if __name__ == "__main__":
    wrong = problems(sys.argv[1])
    print("\n".join(wrong) or f"{sys.argv[1]}: everything agrees")
    sys.exit(bool(wrong))
