"""A scheduler does not answer while a recording attaches, and answers later.

python attach_later.py STORE
"""

from __future__ import annotations

import os
import signal
import sys

from dask_blackbox import recording
from distributed import Client
from scenario_reports import commands_cluster, report_card, until


def main(store: str) -> None:
    with commands_cluster() as address, Client(address) as client:
        scheduler = client.run_on_scheduler(os.getpid)
        os.kill(scheduler, signal.SIGSTOP)
        with recording(client, store=store, job="late") as rec:
            assert not rec.attached
            os.kill(scheduler, signal.SIGCONT)
            until(lambda: rec.attached, "the cluster to be attached")
            client.gather(client.map(abs, range(20)))
        report_card(rec)


if __name__ == "__main__":
    main(sys.argv[1])
