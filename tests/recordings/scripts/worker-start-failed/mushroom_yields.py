"""Weekly yields of the mushroom houses."""

import logging
import random

from dask.distributed import Client

logging.basicConfig(
    level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s"
)
log = logging.getLogger("mushrooms")

HOUSES = 8
BEDS = 30


def pickings(house):
    rng = random.Random(house)
    return [[rng.gauss(4.2, 0.6) for _ in range(7)] for _ in range(BEDS)]


def weekly_yield(house):
    beds = pickings(house)
    return house, sum(sum(bed) for bed in beds)


def below_plan(yields, plan=860):
    return [house for house, kilos in yields if kilos < plan]


def report(yields):
    for house, kilos in sorted(yields):
        log.info("house %d: %.0f kg", house, kilos)
    weak = below_plan(yields)
    if weak:
        log.warning("houses below plan: %s", weak)


client = Client(
    n_workers=1, threads_per_worker=2, memory_limit="400MB", dashboard_address=None
)
log.info("cluster of %s", client.dashboard_link)
futures = client.map(weekly_yield, range(HOUSES))
report(client.gather(futures))
client.close()
