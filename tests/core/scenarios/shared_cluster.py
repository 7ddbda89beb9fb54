"""A driver that does its work on a cluster of others, and looks what is left on it.

python shared_cluster.py STORE ADDRESS
"""

from __future__ import annotations

import sys
from typing import Any

from dask_blackbox import recording
from distributed import Client, Event
from scenario_reports import report_card


def work(i: int) -> int:
    return i


def plugins_of_ours(dask_scheduler: Any) -> list[str]:
    everywhere = [
        *dask_scheduler.plugins,
        *dask_scheduler.worker_plugins,
        *dask_scheduler.nanny_plugins,
        *dask_scheduler.handlers,
    ]
    return [str(name) for name in everywhere if "blackbox" in str(name)]


with Client(sys.argv[2]) as client:
    Event("released").set()  # the task of a driver that was killed
    before = client.run_on_scheduler(plugins_of_ours)
    with recording(client, store=sys.argv[1], job="joins") as rec:
        client.gather(client.map(work, range(20)))
    report_card(rec, plugins=before + client.run_on_scheduler(plugins_of_ours))
