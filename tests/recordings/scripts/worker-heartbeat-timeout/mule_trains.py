"""Load sheets of mule trains (mountain supply).

Weighbridge readings are taken from the serial gateway by the maker's driver,
then turned into load sheets per train.
"""

from __future__ import annotations

import ctypes
import dataclasses
import random
import sys

import dask
from dask import delayed
from dask.distributed import Client, LocalCluster

SETTINGS = {
    # short: readings have to be on the screens before the trains leave
    "distributed.scheduler.worker-ttl": "6s",
    "distributed.scheduler.allowed-failures": 0,
    "distributed.comm.timeouts.connect": "5s",
}
BRIDGES = {"visp": 0, "saas": 0, "zermatt": 0, "arolla": 25_000}


@dataclasses.dataclass
class Reading:
    bridge: str
    animal: int
    kilos: float


class Gateway:
    """Thin wrapper of the maker's library.

    The library calls back into Python for its log lines, hence PyDLL.
    """

    def __init__(self):
        self._lib = ctypes.PyDLL(None)

    def settle(self, milliseconds: int) -> None:
        # wait until the bridge reports a stable weight
        self._lib.poll(None, 0, milliseconds)


def read_bridge(bridge: str, settle_ms: int) -> list[Reading]:
    gateway = Gateway()
    gateway.settle(settle_ms)
    rng = random.Random(bridge)
    return [Reading(bridge, n, round(rng.uniform(40, 95), 1)) for n in range(30)]


def plan_train(readings: list[Reading], limit: float = 2400.0) -> dict:
    load, animals = 0.0, 0
    for r in sorted(readings, key=lambda r: -r.kilos):
        if load + r.kilos > limit:
            break
        load += r.kilos
        animals += 1
    return {"bridge": readings[0].bridge, "animals": animals, "load": round(load, 1)}


def sheet(plans: list[dict]) -> str:
    lines = [f"{p['bridge']:<10}{p['animals']:>4}{p['load']:>9}" for p in plans]
    return "\n".join(["bridge    mules     load", *lines])


def build():
    reads = {
        b: delayed(read_bridge)(b, ms, dask_key_name=f"read_bridge-{b}")
        for b, ms in BRIDGES.items()
    }
    plans = [
        delayed(plan_train)(r, dask_key_name=f"plan_train-{b}")
        for b, r in reads.items()
    ]
    return delayed(sheet)(plans, dask_key_name="sheet-morning")


def main() -> int:
    with dask.config.set(SETTINGS):
        cluster = LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="350MB",
            dashboard_address=None,
        )
        client = Client(cluster)
        try:
            text = client.compute(build()).result(timeout=45)
            print(text)
        except TimeoutError:
            print("the trains left without sheets", file=sys.stderr)
            return 3
        finally:
            client.close()
            cluster.close(timeout=5)
    return 0


if __name__ == "__main__":
    sys.exit(main())
