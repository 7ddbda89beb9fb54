"""A cluster that outlives its drivers: tells its address, and stands until it is killed."""

from __future__ import annotations

import time

from scenario_reports import commands_cluster, report

with commands_cluster("--nanny") as address:
    report(address=address)
    while True:
        time.sleep(1)
