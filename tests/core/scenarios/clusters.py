"""A cluster that outlives its drivers: tells its address, and stands until it is killed."""

from __future__ import annotations

import time

from stage import commands_cluster, tell

with commands_cluster("--nanny") as address:
    tell(address=address)
    while True:
        time.sleep(1)
