"""A healthy run beside a recording of another run that cannot be finished.

python healthy.py STORE [FILE]

It lasts until FILE exists, if one is given.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from dask_blackbox import recording
from distributed import Client
from scenario_reports import recorders, report, report_card, until


def facts_of(pid: int) -> dict[str, int]:
    return {
        "oom": int(Path(f"/proc/{pid}/oom_score_adj").read_text()),
        "nice": os.getpriority(os.PRIO_PROCESS, pid),
    }


def main(store: str, file: str | None = None) -> None:
    with (
        Client(processes=False, n_workers=1, dashboard_address=":0") as client,
        recording(
            client, store=store, job=os.environ.get("DASK_BLACKBOX__JOB", "healthy")
        ) as rec,
    ):
        client.submit(abs, -1).result()
        [recorder] = recorders(os.getpid())
        report(recorder=facts_of(recorder), driver=facts_of(os.getpid()))
        if file is not None:
            until(Path(file).exists, "the test")
        print("done")
    report_card(rec)


if __name__ == "__main__":
    main(*sys.argv[1:])
