"""Two recordings of one cluster: when one has ended, a worker is killed.

python one_of_two_ends.py STORE
"""

from __future__ import annotations

import os
import signal
import sys

from dask_blackbox import recording
from distributed import Client, LocalCluster
from scenario_reports import report_card, until


def main(store: str) -> None:
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
        Client(cluster, set_as_default=False) as other,
    ):
        with recording(client, store=store, job="stays") as rec:
            with recording(other, store=store, job="ends"):
                other.submit(os.getpid, pure=False).result()
            [pid] = client.run(os.getpid).values()
            os.kill(pid, signal.SIGKILL)
            until(
                lambda: client.submit(os.getpid, pure=False).result() != pid,
                "another process",
            )
        report_card(rec)


if __name__ == "__main__":
    main(sys.argv[1])
