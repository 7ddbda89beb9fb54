"""A run whose recorder finds an earlier one of the same job that nobody has finished.

python finishes_lost_run.py STORE FILE: waits for that file, which only a finished recording has.
"""

from __future__ import annotations

import sys
from pathlib import Path

from dask_blackbox import recording
from scenario_reports import report_card, until


def main(store: str, file: str) -> None:
    with recording(store=store, job="nightly", run_id="run-2") as rec:
        until(Path(file).exists, "the earlier recording's end")
    report_card(rec)


if __name__ == "__main__":
    main(*sys.argv[1:])
