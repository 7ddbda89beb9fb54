"""What a recorder loads while the run goes on: an hour of a run is an hour of its memory."""

from __future__ import annotations

import subprocess
import sys

import pytest

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
