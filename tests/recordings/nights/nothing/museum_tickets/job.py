"""Ticket revenue of all museums for one day."""

import json
import os
import pathlib
import sys
import tomllib

from dask.distributed import Client, LocalCluster

from boxoffice import BoxOffice


def fetch(museum, day):
    return museum, BoxOffice().sales(museum, day)


def revenue(sales, prices):
    museum, rows = sales
    return museum, sum(prices[kind] * n for kind, n in rows)


def main(day, out):
    config = tomllib.loads(pathlib.Path("config.toml").read_text())
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=2, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        sales = client.map(fetch, config["museums"], day=day)
        totals = dict(
            client.gather(client.map(revenue, sales, prices=config["prices"]))
        )
    os.makedirs(out, exist_ok=True)
    pathlib.Path(out, f"revenue-{day}.json").write_text(json.dumps(totals))
    print(day, round(sum(totals.values()), 2))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
