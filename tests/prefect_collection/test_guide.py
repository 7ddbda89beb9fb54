"""Every snippet of the guide, run as it stands, imports included."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PAGES = ("docs/prefect.md", "prefect_collection/README.md")
SNIPPETS = [
    pytest.param(text, id=f"{page}:{number}")
    for page in PAGES
    for number, text in enumerate(
        re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
    )
]


@pytest.mark.parametrize("snippet", SNIPPETS)
def test_a_snippet_runs_as_it_stands(snippet: str) -> None:
    # Flows and tasks are defined, not run; a block is saved to the session's server.
    names: dict[str, Any] = {"__name__": "snippet"}

    exec(compile(snippet, "snippet", "exec"), names)
