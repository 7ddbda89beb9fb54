import argparse
import json
import os

from dask.distributed import Client, LocalCluster

from closing.book import balances, entries

BRANCHES = ["aachen", "bonn", "celle", "dessau", "erfurt", "fulda", "gera", "halle"]


def combine(parts):
    total = {}
    for p in parts:
        for account, value in p.items():
            total[account] = round(total.get(account, 0) + value, 2)
    return total


def parse_args():
    ap = argparse.ArgumentParser(description="close the day's ledger")
    ap.add_argument("--closing-date", required=True)
    ap.add_argument("--run-id", required=True)
    ap.add_argument("--report-currency", default="EUR")
    ap.add_argument("--entries", type=int, default=8000)
    ap.add_argument("--out", required=True)
    return ap.parse_args()


def main():
    a = parse_args()
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=2, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        parts = []
        for branch in BRANCHES:
            rows = client.submit(entries, branch, a.closing_date, a.entries)
            parts.append(client.submit(balances, rows, a.report_currency))
        total = client.submit(combine, parts).result()
    os.makedirs(a.out, exist_ok=True)
    with open(os.path.join(a.out, f"closing-{a.closing_date}.json"), "w") as f:
        json.dump(
            {"run": a.run_id, "currency": a.report_currency, "accounts": total}, f
        )
    print(a.closing_date, total)


if __name__ == "__main__":
    main()
