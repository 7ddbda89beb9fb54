"""Weekly order statistics of a maker of kettles and toasters.

Each region has a cluster of its own, since the data of one region must not get to machines of another. The firewall
lets through one port only, so that the schedulers listen on a fixed port, which comes from the settings.
"""

import contextlib
import dataclasses
import logging
import socket
import sys

import numpy as np
import pandas as pd
from distributed import Client, LocalCluster

logging.basicConfig(
    level=logging.INFO, format="%(levelname)s %(name)s: %(message)s", stream=sys.stdout
)
log = logging.getLogger("orders")


class ReportFailed(Exception):
    """The report of a region could not be made."""


@dataclasses.dataclass
class Region:
    name: str
    shops: int
    scheduler_port: int
    currency: str = "EUR"


def pick_port():
    """Stands for the port that the network team has opened."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def weekly_orders(region, shop):
    rng = np.random.default_rng(abs(hash((len(region), shop))) % 2**32)
    frame = pd.DataFrame(
        {
            "article": rng.choice(["kettle", "toaster", "grill"], 5000),
            "pieces": rng.integers(1, 5, 5000),
            "price": rng.normal(39.0, 8.0, 5000).round(2),
        }
    )
    frame["value"] = frame.pieces * frame.price
    return frame.groupby("article").value.sum()


def join_weeks(parts):
    return pd.concat(parts, axis=1).sum(axis=1)


class RegionReport:
    def __init__(self, region, stack):
        self.region = region
        self.stack = stack

    def open(self):
        log.info("opening the cluster of %s", self.region.name)
        cluster = self.stack.enter_context(
            LocalCluster(
                n_workers=1,
                threads_per_worker=1,
                memory_limit="350MB",
                dashboard_address=None,
                host="127.0.0.1",
                scheduler_port=self.region.scheduler_port,
            )
        )
        return self.stack.enter_context(Client(cluster, set_as_default=False))

    def run(self):
        client = self.open()
        parts = client.map(
            weekly_orders,
            [self.region.name] * self.region.shops,
            range(self.region.shops),
            key=f"weekly_orders-{self.region.name}",
        )
        return client.submit(join_weeks, parts, key=f"join_weeks-{self.region.name}")


def main():
    port = pick_port()
    regions = [Region("benelux", 6, port), Region("nordics", 4, port, "SEK")]
    with contextlib.ExitStack() as stack:
        totals = {}
        for region in regions:
            try:
                totals[region.name] = RegionReport(region, stack).run()
                log.info("%s is on its way", region.name)
            except Exception as e:
                log.error("no report for %s", region.name)
                raise ReportFailed(
                    f"region {region.name} ({region.currency}) has no report"
                ) from e
        for name, future in totals.items():
            log.info("%s\n%s", name, future.result())


if __name__ == "__main__":
    main()
