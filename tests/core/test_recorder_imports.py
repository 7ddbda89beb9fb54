"""What a recorder loads while the run goes on: an hour of a run is an hour of its memory."""

from __future__ import annotations

import ctypes
import subprocess
import sys

import pytest

pytestmark = pytest.mark.processes

HEAVY = ("polars", "bokeh", "pandas", "pyarrow", "dask_blackbox.analyse.rules")


@pytest.mark.parametrize(
    "code",
    [
        "from dask_blackbox.recorder import recorder",
        "from dask_blackbox.recorder import late_imports; late_imports.puller()",
        "from dask_blackbox.report import placeholder_html",
        "from dask_blackbox.recorder.earlier_recordings import silent_runs",
    ],
)
def test_tables_rules_and_reports_are_loaded_at_the_end(code: str) -> None:
    check = f"{code}; import sys; print(*[m for m in {HEAVY} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", check], capture_output=True, text=True, check=True
    )

    assert done.stdout.split() == []


def loaded(code: str, *modules: str) -> list[str]:
    check = f"{code}; import sys; print(*[m for m in {modules} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", check], capture_output=True, text=True, check=True
    )
    return done.stdout.split()


def test_the_store_is_opened_before_what_the_beginning_does_not_need() -> None:
    opened = "from dask_blackbox.recorder import recorder"
    little = (
        "from dask_blackbox.segments import frame; "
        "frame('driver 1', 1, 0.0, {'event': [[0.0, 'driver-attached', 'driver', '{}']]})"
    )

    assert loaded(f"{opened}; {little}", "numpy", "jinja2", "distributed") == []


_LITTLE = (
    "from dask_blackbox.recorder import late_imports as loading;"
    "loading.import_little_of_distributed(); loading.puller()"
)


def test_a_recorder_loads_what_connects_to_a_scheduler_only() -> None:
    found = loaded(
        _LITTLE, "distributed.core", "distributed.client", "distributed.scheduler"
    )

    assert found == ["distributed.core"]


@pytest.mark.parametrize(
    "use",
    [
        "distributed.Client",
        "distributed.__version__",
        "distributed.versions.get_versions",
    ],
)
def test_a_recorder_gets_all_of_distributed_when_it_asks_for_it(use: str) -> None:
    check = (
        f"{_LITTLE}; import distributed; from distributed import config; print({use})"
    )

    known = subprocess.run(
        [sys.executable, "-c", f"import distributed; print({use})"],
        capture_output=True,
        text=True,
        check=True,
    )
    got = subprocess.run(
        [sys.executable, "-c", check], capture_output=True, text=True, check=True
    )

    assert got.stdout.split(" at ")[0] == known.stdout.split(" at ")[0]


@pytest.mark.parametrize(("performance", "found"), [(False, []), (True, ["bokeh"])])
def test_bokeh_is_loaded_for_runs_with_a_performance_report_only(
    performance: bool,  # noqa: FBT001
    found: list[str],
) -> None:
    code = "from dask_blackbox.recorder import late_imports as loading"

    pages = f"loading.pages(performance={performance}, tasks=True)"

    assert loaded(f"{code}; loading.finaliser(); {pages}", "bokeh") == found


def test_the_card_is_made_without_the_libraries_of_the_pages() -> None:
    code = "from dask_blackbox.recorder import late_imports as loading"

    assert loaded(f"{code}; loading.finaliser()", "bokeh", "jinja2", "PIL") == []


def test_the_end_of_a_run_without_a_cluster_loads_no_dask() -> None:
    code = "from dask_blackbox.recorder import late_imports as loading"

    assert loaded(f"{code}; loading.finaliser()", "dask", "toolz", "psutil") == []


_KEEPS_AND_RETURNS = """
import psutil
from dask_blackbox.recorder.late_imports import return_freed_memory

def resident():
    return psutil.Process().memory_info().rss

before = resident()
# Larger than what Python allocates by itself, smaller than what malloc maps; one in 20 stays.
blocks = [bytes(4_000) for _ in range(20_000)]
kept = blocks[::20]
del blocks
freed = resident()
return_freed_memory()
print(freed - before, freed - resident())
"""


@pytest.mark.skipif(
    not hasattr(ctypes.CDLL(None), "malloc_trim"),
    reason="this C library has no malloc_trim",
)
def test_freed_memory_goes_back_to_the_system() -> None:
    answer = subprocess.run(
        [sys.executable, "-c", _KEEPS_AND_RETURNS],
        capture_output=True,
        text=True,
        check=True,
    )
    held, returned = map(int, answer.stdout.split())

    assert (
        held > 40e6
    )  # what is kept is spread over it, so malloc returns nothing itself
    assert returned > held / 2
