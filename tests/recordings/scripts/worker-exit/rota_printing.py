"""Prints next month's rotas of the hospital wards.

Pages are set by a typesetting library of a small vendor; the library checks
its licence pool when the first page is set.  Three print hosts take part,
each with its own settings file.
"""

import json
import logging
import os
import subprocess
import sys
import time
from pathlib import Path

import dask
from dask.distributed import Client, LocalCluster

dask.config.set({"distributed.scheduler.allowed-failures": 0})
log = logging.getLogger("rota")

VENDOR = r'''
"""Typesetting, release 4.2."""
import json, os, sys, time

def settings():
    with open(os.environ["TYPESET_SETTINGS"]) as f:
        return json.load(f)

def open_session():
    conf = settings()
    if conf["pool"] not in ("wards", "wards-b"):
        sys.stderr.write("typeset: pool %r has no seats, closing\n" % conf["pool"])
        sys.stderr.flush()
        os._exit(67)
    return conf["pool"]

def page(lines):
    open_session()
    return "\f".join(lines)
'''

HOSTS = {
    "print-a": {"pool": "wards", "duplex": True},
    "print-b": {"pool": "wards-b", "duplex": True},
    "print-c": {"pool": "trial-2025", "duplex": False},
}
WARDS = ["cardiology", "surgery", "maternity", "oncology", "geriatrics", "paediatrics"]


class PrintFloor:
    def __init__(self, address):
        self.processes = []
        for host, conf in HOSTS.items():
            settings = Path(f"{host}.json").resolve()
            settings.write_text(json.dumps(conf))
            env = dict(
                os.environ, TYPESET_SETTINGS=str(settings), PYTHONPATH=os.getcwd()
            )
            self.processes.append(
                subprocess.Popen(
                    [
                        sys.executable,
                        "-m",
                        "dask",
                        "worker",
                        address,
                        "--no-nanny",
                        "--nthreads",
                        "2",
                        "--name",
                        host,
                        "--memory-limit",
                        "300MB",
                        "--no-dashboard",
                    ],
                    env=env,
                    stderr=open(f"{host}.log", "w"),
                    stdout=subprocess.DEVNULL,
                )
            )

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        for p in self.processes:
            p.terminate()
        for p in self.processes:
            p.wait()


def shifts(ward, month):
    """Who works when; asks the roster service page by page."""
    out = []
    for day in range(1, 29):
        time.sleep(0.12)
        out.append(f"{ward} {month:02d}-{day:02d} early late night")
    return out


def set_pages(ward, month):
    import typeset_pages

    time.sleep(0.8)
    return len(typeset_pages.page([f"{ward} {month}"] * 4))


def main():
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    Path("typeset_pages.py").write_text(VENDOR)
    with (
        LocalCluster(n_workers=0, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        with PrintFloor(cluster.scheduler_address):
            client.wait_for_workers(3, timeout=30)
            hosts = list(HOSTS)
            rosters, pages = [], []
            for i, ward in enumerate(WARDS):
                where = hosts[i % 3]
                rosters.append(client.submit(shifts, ward, 12, workers=[where]))
                pages.append(
                    client.submit(
                        set_pages, ward, 12, workers=[where], allow_other_workers=True
                    )
                )
            for ward, roster in zip(WARDS, client.gather(rosters)):
                log.info("%s: %d days", ward, len(roster))
            log.info("%d pages", sum(client.gather(pages)))


if __name__ == "__main__":
    main()
