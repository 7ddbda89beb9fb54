"""Weekly price comparison for the purchasing department.

Every supplier drops one CSV per evening into the inbox; we compute the median unit cost per article and
compare it with the list price of the article master.
"""

import argparse
import logging
import sys
from pathlib import Path

import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster

log = logging.getLogger("purchasing.prices")

SUPPLIERS = ["abel", "brandt", "corvi", "dorn", "eklund", "fabre"]


def deliver_inbox(inbox: Path, night: str) -> None:
    """Stand-in for the SFTP pull: what the suppliers sent for this night."""
    rng = np.random.default_rng(2411)
    inbox.mkdir(parents=True, exist_ok=True)
    for position, supplier in enumerate(SUPPLIERS):
        rows = 4000
        frame = pd.DataFrame(
            {
                "article": rng.integers(10_000, 10_400, rows),
                "supplier": supplier,
                "unit_cost": rng.gamma(4.0, 3.5, rows).round(2),
                "lead_days": rng.integers(1, 30, rows),
            }
        )
        if supplier == "eklund":
            frame["unit_cost"] = frame["unit_cost"].astype(object)
            frame.loc[rows - 300 :: 50, "unit_cost"] = "on request"
        frame.to_csv(inbox / f"{night}_{position:02d}_{supplier}.csv", index=False)


def list_prices() -> pd.DataFrame:
    articles = np.arange(10_000, 10_400)
    return pd.DataFrame({"article": articles, "list_price": 12.0 + (articles % 17)})


def with_margin(frame: pd.DataFrame, surcharge: float) -> pd.DataFrame:
    return frame.assign(
        landed_cost=frame["unit_cost"] * (1.0 + surcharge) + 0.02 * frame["lead_days"]
    )


def read_surcharge(path: Path) -> float:
    try:
        return float(path.read_text())
    except FileNotFoundError:
        log.warning("no %s, taking the surcharge of last quarter", path)
        return 0.035


def build(inbox: Path, night: str, surcharge: float) -> pd.DataFrame:
    prices = dd.read_csv(str(inbox / f"{night}_*.csv"))
    log.info(
        "reading %d partitions, columns %s", prices.npartitions, list(prices.columns)
    )
    landed = prices.map_partitions(with_margin, surcharge)
    summary = (
        landed.groupby("article")
        .agg({"landed_cost": "mean", "lead_days": "max"})
        .reset_index()
    )
    joined = summary.merge(list_prices(), on="article", how="left")
    joined["gap"] = joined["landed_cost"] - joined["list_price"]
    return joined.compute()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--night", default="2026-11-27")
    parser.add_argument("--inbox", type=Path, default=Path("inbox"))
    args = parser.parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )

    deliver_inbox(args.inbox, args.night)
    surcharge = read_surcharge(args.inbox / "surcharge.txt")
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster),
    ):
        report = build(args.inbox, args.night, surcharge)
    report.to_csv("price_gaps.csv", index=False)
    log.info("%d articles above list price", int((report["gap"] > 0).sum()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
