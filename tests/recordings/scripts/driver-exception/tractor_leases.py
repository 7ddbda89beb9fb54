"""Lease invoices for agricultural machines.

Step 1 (own small cluster) condenses the telematics of the machines to hours per lease, step 2 (second cluster)
joins the hours with the contracts of the ERP and writes the invoice lines.
"""

import logging
import sys
from pathlib import Path

import click
import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster

logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
log = logging.getLogger("leases")


def telematics(day: int) -> pd.DataFrame:
    rng = np.random.default_rng(day)
    size = 5000
    return pd.DataFrame(
        {
            "lease_no": rng.integers(70_000, 70_250, size),
            "engine_minutes": rng.integers(0, 60, size),
            "fuel": rng.random(size) * 20,
        }
    )


def export_contracts(target: Path) -> None:
    """The ERP's export; since release 9 lease numbers carry the tenant's prefix."""
    numbers = [f"DE-{n}" for n in range(70_000, 70_250)]
    frame = pd.DataFrame(
        {
            "lease_no": numbers,
            "rate_per_hour": np.linspace(11, 48, len(numbers)).round(2),
        }
    )
    target.mkdir(exist_ok=True)
    half = len(frame) // 2
    frame.iloc[:half].to_csv(target / "contracts-0.csv", index=False)
    frame.iloc[half:].to_csv(target / "contracts-1.csv", index=False)


def condense(days: int, output: Path) -> None:
    with LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None
    ) as cluster:
        with Client(cluster) as client:
            raw = dd.from_map(telematics, list(range(1, days + 1)))
            hours = raw.groupby("lease_no")["engine_minutes"].sum().reset_index()
            hours["hours"] = hours["engine_minutes"] / 60.0
            hours.to_parquet(output, write_index=False)
            probe = client.submit(int, "n/a")
            if probe.exception() is not None:
                log.warning(
                    "odometer feed not usable tonight (%s), invoices by hours only",
                    probe.exception(),
                )
    log.info("hours condensed into %s", output)


def invoice_lines(hours_path: Path, contracts_path: Path) -> pd.DataFrame:
    hours = dd.read_parquet(hours_path)
    contracts = dd.read_csv(str(contracts_path / "contracts-*.csv"))
    log.info("joining %d and %d partitions", hours.npartitions, contracts.npartitions)
    lines = hours.merge(contracts, on="lease_no", how="inner")
    lines["amount"] = (lines["hours"] * lines["rate_per_hour"]).round(2)
    return lines[["lease_no", "hours", "amount"]].compute()


@click.command()
@click.option("--days", default=12, show_default=True)
@click.option("--work", type=click.Path(path_type=Path), default=Path("leases"))
def main(days: int, work: Path) -> None:
    work.mkdir(exist_ok=True)
    export_contracts(work / "erp")
    condense(days, work / "hours")
    cluster = LocalCluster(n_workers=1, threads_per_worker=2, dashboard_address=None)
    client = Client(cluster)
    try:
        lines = invoice_lines(work / "hours", work / "erp")
        lines.to_csv(work / "invoice_lines.csv", index=False)
        log.info("%d lines, %.2f EUR", len(lines), lines["amount"].sum())
    finally:
        log.info("closing the cluster of step 2")
        client.close()
        cluster.close()


if __name__ == "__main__":
    sys.exit(main())
