"""Reserve prices of the truffle auction: three models race for every lot, the first answer counts."""

import logging
import time

from dask.distributed import Client, LocalCluster, as_completed

log = logging.getLogger("truffles")


def nearest_sales(lot):
    time.sleep(0.15 + (lot % 3) * 0.1)
    return "nearest-sales", 300 + lot * 11 % 250


def regression(lot):
    time.sleep(0.4 - (lot % 3) * 0.12)
    return "regression", 280 + lot * 13 % 270


def full_simulation(lot, rounds=60):
    price = 300.0
    for n in range(rounds):
        time.sleep(0.1)
        price += (lot * n % 7) - 3
    return "simulation", price


MODELS = (nearest_sales, regression, full_simulation)


def race(client, lot):
    runners = [
        client.submit(model, lot, pure=False, priority=-n)
        for n, model in enumerate(MODELS)
    ]
    for future in as_completed(runners):
        winner, price = future.result()
        losers = [f for f in runners if f is not future]
        client.cancel(
            losers, force=True, reason="race-over", msg=f"lot {lot} has its price"
        )
        log.info("lot %d: %s, %d runners called off", lot, winner, len(losers))
        return winner, price
    raise RuntimeError(f"no model for lot {lot}")


def main():
    logging.basicConfig(level=logging.INFO)
    wins = {}
    total = 0.0
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=6, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        for lot in range(8):
            winner, price = race(client, lot)
            wins[winner] = wins.get(winner, 0) + 1
            total += price
    print(wins, round(total, 2))


if __name__ == "__main__":
    main()
