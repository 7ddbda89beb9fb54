"""Count the grape harvest as the trailers come in.

A scheduler and two workers are started as on the cellar's machine.  An actor
keeps the running totals per vineyard; weighing tasks report to the driver,
which adds each trailer to the totals.
"""

import argparse
import contextlib
import logging
import random
import socket
import subprocess
import sys
import tempfile
import time

from dask.distributed import Client

log = logging.getLogger("harvest_counters")

PLOTS = ["Hohenrain", "Kirchberg", "Steinacker", "Lerchenfeld", "Altenweg"]


class Totals:
    """Running totals of the press house."""

    def __init__(self):
        self.kilos = {}
        self.trailers = 0

    def add(self, plot, kilos):
        self.kilos[plot] = self.kilos.get(plot, 0.0) + kilos
        self.trailers += 1
        return self.trailers

    def snapshot(self):
        return dict(self.kilos)


def weigh(trailer, seed):
    """Gross and tare of one trailer, three weighings each."""
    rng = random.Random(seed * 10_000 + trailer)
    gross = sorted(rng.gauss(4200, 300) for _ in range(3))[1]
    tare = sorted(rng.gauss(900, 15) for _ in range(3))[1]
    time.sleep(0.5)
    return rng.choice(PLOTS), gross - tare


def sugar(trailer, seed):
    rng = random.Random(seed * 77 + trailer)
    time.sleep(0.2)
    return rng.gauss(88, 6)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@contextlib.contextmanager
def cellar_cluster(work, lifetime):
    """`dask scheduler` and two `dask worker` on this machine, stopped at the end."""
    addr = f"tcp://127.0.0.1:{free_port()}"
    dask = [sys.executable, "-m", "dask"]
    procs = [
        subprocess.Popen(
            dask
            + [
                "scheduler",
                "--host",
                "127.0.0.1",
                "--port",
                addr.rsplit(":", 1)[1],
                "--dashboard-address",
                ":0",
            ]
        )
    ]
    try:
        for i in range(2):
            procs.append(
                subprocess.Popen(
                    dask
                    + [
                        "worker",
                        addr,
                        "--name",
                        f"cellar-{i}",
                        "--nthreads",
                        "1",
                        "--no-dashboard",
                        "--local-directory",
                        work,
                        "--lifetime",
                        lifetime,
                        "--lifetime-restart",
                    ]
                )
            )
        yield addr
    finally:
        for proc in reversed(procs):
            proc.terminate()
        for proc in procs:
            try:
                proc.wait(20)
            except subprocess.TimeoutExpired:
                proc.kill()


def run(client, args):
    totals = client.submit(Totals, actor=True, key="Totals-press-house").result()
    log.info("totals are kept by %s", totals)
    first = 0
    while first < args.trailers:
        batch = range(first, min(first + args.batch, args.trailers))
        weights = client.gather(
            [
                client.submit(weigh, t, args.seed, key=f"weigh-{t:04d}", retries=2)
                for t in batch
            ]
        )
        oechsle = client.gather(
            [
                client.submit(sugar, t, args.seed, key=f"sugar-{t:04d}", retries=2)
                for t in batch
            ]
        )
        for plot, kilos in weights:
            n = totals.add(plot, kilos).result()
        log.info(
            "%d trailers counted, mean must weight %.1f", n, sum(oechsle) / len(oechsle)
        )
        first = batch[-1] + 1
    return totals.snapshot().result()


def main(argv=None):
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--trailers", type=int, default=240)
    p.add_argument("--batch", type=int, default=8)
    p.add_argument("--seed", type=int, default=5)
    p.add_argument("--lifetime", default="18s")
    args = p.parse_args(argv)
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )

    with tempfile.TemporaryDirectory(prefix="harvest-") as work:
        with (
            cellar_cluster(work, args.lifetime) as addr,
            Client(addr, timeout=60) as client,
        ):
            client.wait_for_workers(2, timeout=60)
            kilos = run(client, args)
    for plot, kg in sorted(kilos.items()):
        log.info("%-12s %9.0f kg", plot, kg)
    return 0


if __name__ == "__main__":
    sys.exit(main())
