"""A driver that is killed when its cluster is there and no client has connected to it.

python orphaning_unconnected.py STORE
"""

from __future__ import annotations

import os
import sys
import time

from dask_blackbox import recording
from distributed.deploy.subprocess import SubprocessCluster
from scenario_reports import report

if __name__ == "__main__":
    with recording(None, store=sys.argv[1], job="orphaning", run_id="killed") as rec:
        cluster = SubprocessCluster(
            n_workers=0, scheduler_kwargs={"dashboard": False, "host": "127.0.0.1"}
        )
        rec.own(cluster)
        report(driver=os.getpid(), links=rec.links, address=cluster.scheduler_address)
        time.sleep(600)
