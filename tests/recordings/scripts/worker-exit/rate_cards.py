import argparse

import dask
from dask.distributed import Client, LocalCluster


def parse_card(line):
    parser = argparse.ArgumentParser(prog="ratecard")
    parser.add_argument("--zone", required=True, choices=["A", "B", "C", "D"])
    parser.add_argument("--per-kg", type=float, required=True)
    parser.add_argument("--min-fee", type=float, default=4.5)
    return parser.parse_args(line.split())


def quote(line, kg):
    card = parse_card(line)
    return card.zone, max(card.min_fee, card.per_kg * kg)


CARDS = [
    "--zone A --per-kg 1.20",
    "--zone B --per-kg 1.45 --min-fee 6",
    "--zone C --per-kg 1,80",
    "--zone D --per-kg 2.35",
]


def main():
    dask.config.set({"distributed.scheduler.allowed-failures": 1})
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    client = Client(cluster)
    try:
        quotes = client.map(quote, CARDS, [12.0, 3.5, 8.0, 20.0])
        table = client.submit(dict, quotes)
        print(table.result(timeout=18))
    finally:
        client.close()
        cluster.close()


if __name__ == "__main__":
    main()
