"""With `blackbox.capture.source`, what changed in the user's functions is shown as a diff."""

from __future__ import annotations

import ast
import gc
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conditions import scaled
from dask_blackbox.capture.driver.driver_environment import parts_of, sources_of
from dask_blackbox.cli.compare import comparison_text
from dask_blackbox.reader.comparison import compare_runs, comparison_of
from dask_blackbox.reader.run_lookup import find_run
from dask_blackbox.store import open_store
from sketches import a_night, a_prefix
from stored_events import details

pytestmark = pytest.mark.processes

MODULE = '''
import functools
try:
    import speedups
except ImportError:
    FAST = False
LIMIT: int = 3

class Tax:
    """A tax."""

    @functools.cache
    def added(self, row):
        return row * 2

async def fetched(row):
    return row
'''


def test_every_part_of_a_module_has_its_source() -> None:
    sources = sources_of(MODULE)
    parts = parts_of(compile(MODULE, "shop.py", "exec"))

    assert sources["Tax.added"] == (
        "    @functools.cache\n    def added(self, row):\n        return row * 2"
    )
    assert sources["LIMIT"] == "LIMIT: int = 3"
    assert sources["FAST"] == "    FAST = False"
    # (An import and a class have no text of their own.)
    imports = {"functools", "speedups", "Tax", "__annotations__"}
    assert sources.keys() == parts.keys() - imports


def test_a_long_function_is_cut() -> None:
    text = "def long():\n" + "    x = 1\n" * 9_000

    assert len(sources_of(text)["long"]) == 4_000


def test_a_source_is_read_while_something_else_parses() -> None:
    """CPython 3.11 raises SystemError then: what the collector calls is enough."""

    def deep(depth: int) -> None:
        if depth:
            deep(depth - 1)
        else:
            ast.parse("x = 1")

    def parses_once(phase: str, info: object) -> None:
        gc.callbacks.remove(parses_once)
        deep(30)

    gc.callbacks.append(parses_once)
    try:
        assert [*sources_of("def long():\n" + "    x = 1\n" * 9_000)] == ["long"]
    finally:
        assert parses_once not in gc.callbacks


def test_what_is_no_python_has_no_source() -> None:
    with pytest.raises(ValueError, match="never closed"):
        sources_of("def long(")


def night(number: int, body: str, digest: str) -> Any:
    return a_night(
        number,
        prefixes=(a_prefix("tax", code=f"2py311.{digest}", functions=("shop:tax",)),),
        facts={"code": {"module shop": f"2py311.{digest}"}},
        parts={"shop:tax": f"shop.py:3 {digest}"},
        sources={"shop:tax": f"def tax(row):\n    return {body}"},
    )


def test_a_function_that_changed_is_shown_as_a_diff_once() -> None:
    reported = comparison_of(night(1, "row * 2", "aa"), night(2, "row * 3", "bb"))
    shown = comparison_text(reported, width=120)

    assert shown.count("-    return row * 2") == 1
    assert "+    return row * 3" in shown
    assert "+++ tax at shop.py:3" in shown


JOB = """
import sys
from distributed import Client, LocalCluster
from dask_blackbox import recording

API_KEY = "AKIAABCDEFGHIJKLMNOP"

def tax(row):
    return row * 2

def main():
    options = {"n_workers": 1, "processes": False, "dashboard_address": None}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        with recording(client, store=sys.argv[1], job="taxes", run_id=sys.argv[2]):
            client.gather(client.map(tax, range(4)))

if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(True, id="recorded", marks=pytest.mark.nightly),
        pytest.param(False, id="not recorded", marks=pytest.mark.nightly),
    ],
)
def test_the_source_is_recorded_where_it_is_asked_for(
    tmp_path: Path, *, source: bool
) -> None:
    script, store = tmp_path / "job.py", str(tmp_path / "store")
    environment = {
        **os.environ,
        "DASK_BLACKBOX__CAPTURE__SOURCE": str(source).lower(),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    for run, text in (("one", JOB), ("two", JOB.replace("row * 2", "row * 33"))):
        script.write_text(text)
        subprocess.run(
            [sys.executable, str(script), store, run],
            env=environment,
            cwd=tmp_path,
            timeout=scaled(200),
            check=True,
        )
    reported = comparison_text(
        compare_runs(open_store(store), "taxes/one", "taxes/two")
    )
    [event] = [
        each
        for each in details(find_run(open_store(store), "taxes/two"), "driver-code")
        if "__main__" in each.get("modules", {})
    ]

    assert "tax at job.py:8" in reported
    assert ("+    return row * 33" in reported) is source
    assert ("sources" in event) is source
    if source:
        assert "AKIAABCDEFGHIJKLMNOP" not in event["sources"]["__main__:API_KEY"]
