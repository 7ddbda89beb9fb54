"""Margins of a chain of grocery shops, by shop and shelf.

The rules of pricing are a module of our own, shelf_pricing, which is deployed as a folder per release; the link
"current" says which release a machine uses. The scheduler runs with the driver, the workers are started as commands,
as on the machines in the shops' data centre.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pandas as pd
from distributed import Client, LocalCluster, wait

OCTOBER = '''\
"""Rules of pricing, release 2026.10"""
__version__ = "2026.10"


def shelf_margin(rows):
    return float(((rows.price - rows.cost) * rows.sold).sum())
'''

NOVEMBER = (
    OCTOBER.replace("2026.10", "2026.11")
    + '''

def promo_margin(rows, discount):
    """As shelf_margin, less the discount of goods on promotion."""
    price = rows.price.where(~rows.promo, rows.price * (1 - discount))
    return float(((price - rows.cost) * rows.sold).sum())
'''
)


def deploy(root):
    for release, text in (("2026.10", OCTOBER), ("2026.11", NOVEMBER)):
        (root / release).mkdir()
        (root / release / "shelf_pricing.py").write_text(text)
    (root / "current").symlink_to("2026.10")
    return root


def load_shop(number):
    rows = pd.DataFrame(
        {"sku": range(400), "sold": [(number * 7 + i) % 31 for i in range(400)]}
    )
    rows["cost"] = 0.4 + rows.sku % 17 / 10
    rows["price"] = rows.cost * 1.3
    rows["promo"] = rows.sku % 5 == 0
    return rows


def start_workers(address, releases, count):
    path = [str(releases / "current"), os.environ.get("PYTHONPATH", "")]
    env = dict(os.environ, PYTHONPATH=os.pathsep.join(p for p in path if p))
    command = [
        sys.executable,
        "-m",
        "dask",
        "worker",
        address,
        "--nthreads",
        "1",
        "--memory-limit",
        "400MB",
        "--no-dashboard",
    ]
    return [
        subprocess.Popen(
            command + ["--name", f"shop-dc-{i}"], env=env, cwd=tempfile.gettempdir()
        )
        for i in range(count)
    ]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--release", default="2026.11")
    parser.add_argument("--shops", type=int, default=8)
    parser.add_argument("--patience", type=float, default=15.0, help="seconds")
    args = parser.parse_args()

    releases = deploy(Path(tempfile.mkdtemp(prefix="releases-")))
    sys.path.insert(0, str(releases / args.release))
    import shelf_pricing

    print("driver uses shelf_pricing", shelf_pricing.__version__, flush=True)
    cluster = LocalCluster(n_workers=0, dashboard_address=None)
    client = Client(cluster)
    workers = start_workers(cluster.scheduler_address, releases, 2)
    try:
        client.wait_for_workers(2, timeout=30)
        shops = client.map(load_shop, range(args.shops))
        plain = client.map(shelf_pricing.shelf_margin, shops, key="shelf_margin")
        print("without promotions", round(sum(client.gather(plain)), 2), flush=True)
        promo = client.map(
            shelf_pricing.promo_margin,
            shops,
            discount=0.15,
            retries=1,
            key="promo_margin",
        )
        try:
            wait(promo, timeout=args.patience)
        except TimeoutError:
            print(
                "margins are late:",
                {f.key: f.status for f in promo if f.status != "finished"},
                file=sys.stderr,
            )
            raise
        bad = [f for f in promo if f.status == "error"]
        if bad:
            print(f"{len(bad)} of {len(promo)} shops have no margin", file=sys.stderr)
        print("with promotions", round(sum(client.gather(promo)), 2))
    finally:
        client.close()
        for process in workers:
            process.terminate()
        for process in workers:
            process.wait(15)
        cluster.close()


if __name__ == "__main__":
    main()
