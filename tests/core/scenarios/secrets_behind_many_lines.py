"""A run whose recorder is behind with the driver's lines when a task uses a new secret.

python secrets_behind_many_lines.py STORE, with the secret in the environment
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import time

import dask
import psutil
from dask_blackbox import mask_secret, recording
from dask_blackbox.protocol import liveness
from distributed import Client, LocalCluster
from scenario_reports import recorders, report_card, scaled, until
from secrets_loaded_later import use, use_and_fail

logger = logging.getLogger("job")


def connected_to(process: psutil.Process) -> set[int]:
    """Return the ports that a process is connected to."""
    connected = process.net_connections("tcp")
    return {each.raddr.port for each in connected if each.status == "ESTABLISHED"}


def main(store: str) -> None:
    """Record it."""
    secret = os.environ.pop("PLANTED")
    # It is stopped for as long as a busy machine takes to write the lines.
    liveness._STOPPED = liveness._STOPPED_IF_AWAITED = scaled(60)
    with (
        dask.config.set({"blackbox.recorder.silent-after": "2 minutes"}),
        LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        rec = recording(client, store=store, job="behind")
        with rec:
            client.submit(use, "an ordinary value").result(timeout=scaled(60))
            recorder = psutil.Process(*recorders(os.getpid()))
            port = int(cluster.scheduler_address.rpartition(":")[2])
            until(lambda: port in connected_to(recorder), "a connection")
            recorder.send_signal(signal.SIGSTOP)
            for i in range(4_500):
                logger.warning("station %d: %s", i, "read as C:/a=1, sorted; " * 150)
            mask_secret(secret)
            client.submit(use_and_fail, secret).exception(timeout=scaled(60))
            # The next pull is due when the recorder goes on.
            client.submit(time.sleep, 3).result(timeout=scaled(60))
            recorder.send_signal(signal.SIGCONT)
            client.submit(use, "another ordinary value").result(timeout=scaled(60))
    report_card(rec)


if __name__ == "__main__":
    main(sys.argv[1])
