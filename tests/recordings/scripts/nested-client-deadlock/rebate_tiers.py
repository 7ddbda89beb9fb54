"""Yearly rebates of a wholesaler: every sales region is priced by tiers, the tiers are split further by customer."""

import logging
import random
import sys
import time

import click
from dask.distributed import Client, LocalCluster, get_client, wait

log = logging.getLogger("rebates")

REGIONS = ["north", "south", "east", "west", "islands"]
TIERS = {"bronze": 0.01, "silver": 0.025, "gold": 0.04}


def load_turnover(region, year):
    """Stands for a query of the sales ledger."""
    rng = random.Random(f"{region}{year}")
    time.sleep(0.2)
    return [rng.randint(1_000, 90_000) for _ in range(300)]


def tier_of(amount):
    if amount > 60_000:
        return "gold"
    return "silver" if amount > 20_000 else "bronze"


def price_tier(amounts, tier):
    time.sleep(0.1)
    return sum(amounts) * TIERS[tier]


def price_region(region, turnover):
    """Prices the tiers of one region side by side and adds them up."""
    client = get_client()
    parts = []
    for tier in TIERS:
        amounts = [amount for amount in turnover if tier_of(amount) == tier]
        parts.append(
            client.submit(price_tier, amounts, tier, key=f"price_tier-{region}-{tier}")
        )
    return region, sum(client.gather(parts))


def check_customer_numbers(region):
    time.sleep(0.1)
    if region == "islands":
        raise LookupError("customer 88121 of the islands has no number in the register")
    return True


def quality_checks(client):
    checks = {
        region: client.submit(check_customer_numbers, region) for region in REGIONS
    }
    for region, future in checks.items():
        if future.exception() is not None:
            log.warning(
                "check of %s: %s (goes to the sales office, the rebates are paid anyway)",
                region,
                future.exception(),
            )


def rebates(client, year, patience):
    turnovers = {
        region: client.submit(
            load_turnover, region, year, key=f"load_turnover-{region}"
        )
        for region in REGIONS
    }
    wait(list(turnovers.values()))
    log.info("turnover of %d regions is loaded", len(turnovers))
    futures = [
        client.submit(price_region, region, turnover, key=f"price_region-{region}")
        for region, turnover in turnovers.items()
    ]
    try:
        wait(futures, timeout=patience)
    except TimeoutError:
        log.error(
            "no rebates after %s seconds, giving up and clearing the queue", patience
        )
        client.cancel(futures, force=True)
        raise
    return dict(client.gather(futures))


@click.command()
@click.option("--year", default=2026, type=int)
@click.option("--workers", default=2, type=int)
@click.option("--patience", default=14.0, type=float)
def main(year, workers, patience):
    logging.basicConfig(
        level=logging.INFO, format="%(levelname)s %(name)s: %(message)s"
    )
    with (
        LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            memory_limit="400MB",
            dashboard_address=":0",
        ) as cluster,
        Client(cluster) as client,
    ):
        quality_checks(client)
        try:
            for region, amount in rebates(client, year, patience).items():
                click.echo(f"{region:10} {amount:12.2f}")
        except TimeoutError:
            client.shutdown()
            sys.exit("the rebate run failed: timeout")


if __name__ == "__main__":
    main()
