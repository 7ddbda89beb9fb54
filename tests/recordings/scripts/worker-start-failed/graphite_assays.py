"""Assay of drill cores: carbon grade of each interval, composited to blocks for the mine planners.

The site firewall opens a single port for workers; ``site.toml`` holds it together with the rest of the set-up.
"""

import logging
import pathlib
import socket
import subprocess
import sys
import tomllib

import dask.bag as db
from distributed import Client

log = logging.getLogger("assays")


def write_site_file(path):
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    path.write_text(f"""
[cluster]
host = "127.0.0.1"
worker_port = {port}
workers = 2
memory = "350MB"

[assay]
holes = 30
interval = 2.0
cutoff = 4.5
""")


class SiteCluster:
    def __init__(self, conf):
        self.conf = conf
        self.children = {}

    def _dask(self, name, *args):
        out = open(f"{name}.log", "w")
        self.children[name] = subprocess.Popen(
            [sys.executable, "-m", "dask", *args], stdout=out, stderr=subprocess.STDOUT
        )

    def __enter__(self):
        c = self.conf
        self._dask(
            "scheduler",
            "scheduler",
            "--host",
            c["host"],
            "--port",
            "0",
            "--no-dashboard",
            "--scheduler-file",
            "site.json",
        )
        for i in range(c["workers"]):
            self._dask(
                f"lab-{i}",
                "worker",
                "--scheduler-file",
                "site.json",
                "--host",
                c["host"],
                "--worker-port",
                str(c["worker_port"]),
                "--nthreads",
                "1",
                "--memory-limit",
                c["memory"],
                "--no-dashboard",
                "--no-nanny",
                "--name",
                f"lab-{i}",
            )
        return self

    def __exit__(self, *exc):
        for name, p in reversed(list(self.children.items())):
            if p.poll() is not None:
                log.info("%s had already ended", name)
                continue
            p.terminate()
            try:
                p.wait(8)
            except subprocess.TimeoutExpired:
                p.kill()


def intervals(hole, step):
    depth, grade = 0.0, 3.0
    while depth < 120:
        grade = 0.8 * grade + 0.2 * ((hole * 37 + depth * 11) % 9)
        yield {
            "hole": hole,
            "from": depth,
            "to": depth + step,
            "grade": round(grade, 3),
        }
        depth += step


def main():
    logging.basicConfig(level=logging.INFO)
    site = pathlib.Path("site.toml")
    write_site_file(site)
    conf = tomllib.loads(site.read_text())
    assay = conf["assay"]
    with SiteCluster(conf["cluster"]):
        with Client(scheduler_file="site.json", timeout=15) as client:
            # blocks are composited pairwise between the labs, one is not enough to finish before the shift
            client.wait_for_workers(conf["cluster"]["workers"], timeout=15)
            bag = (
                db.from_sequence(range(assay["holes"]), npartitions=6)
                .map(lambda h: list(intervals(h, assay["interval"])))
                .flatten()
            )
            rich = bag.filter(lambda r: r["grade"] >= assay["cutoff"])
            log.info(
                "%d of %d intervals above cutoff",
                rich.count().compute(),
                bag.count().compute(),
            )


if __name__ == "__main__":
    try:
        main()
    except TimeoutError as e:
        log.error("no assays tonight: %s", e)
        sys.exit(1)
