"""Seasonal payroll of the vineyards: picked kilos per estate and picker become premium payments.

The scales send one batch per estate and hour; batches are fetched with retries because the GSM link drops now and then.
"""

import logging
import os
import tempfile

import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster, wait

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
log = logging.getLogger("payroll")

ESTATES = {
    "north": ["Hochberg", "Kapellrain"],
    "south": ["Talgut", "Sonnhalde"],
    "river": ["Uferlay"],
}
PREMIUM = {"north": 0.11, "south": 0.09, "river": 0.14}


def fetch_batch(estate, hour, spool):
    """One hour of the scale of one estate."""
    seen = os.path.join(spool, f"{estate}-{hour}")
    if hour == 9 and not os.path.exists(seen):
        open(seen, "w").close()
        raise ConnectionResetError(f"scale of {estate}: carrier lost")
    rng = np.random.default_rng(hour * 31 + len(estate))
    size = 0 if estate == "Uferlay" else 400
    return pd.DataFrame(
        {
            "estate": estate,
            "picker": rng.integers(1, 60, size),
            "kilos": rng.normal(14, 3, size).round(1),
        }
    )


def per_picker(batches):
    frame = pd.concat([b for b in batches if len(b)] or [batches[0]], ignore_index=True)
    return frame.groupby(["estate", "picker"], as_index=False)["kilos"].sum()


def region_of(estate):
    return next(region for region, estates in ESTATES.items() if estate in estates)


def collect(client, spool):
    futures = []
    for estates in ESTATES.values():
        for estate in estates:
            batches = client.map(
                fetch_batch,
                [estate] * 10,
                range(6, 16),
                spool=spool,
                retries=3,
                key=f"fetch-{estate.lower()}",
                pure=False,
            )
            futures.append(
                client.submit(per_picker, batches, key=f"per-picker-{estate.lower()}")
            )
    wait(futures)
    return pd.concat(client.gather(futures), ignore_index=True)


def premiums(kilos):
    kilos["region"] = kilos["estate"].map(region_of)
    totals = kilos.groupby("region")["kilos"].sum()
    lines = []
    for region, rate in PREMIUM.items():
        lines.append(
            {
                "region": region,
                "kilos": totals[region],
                "premium": round(totals[region] * rate, 2),
            }
        )
    return pd.DataFrame(lines)


def main():
    with tempfile.TemporaryDirectory() as spool:
        with LocalCluster(
            n_workers=2, threads_per_worker=2, dashboard_address=None
        ) as cluster:
            with Client(cluster) as client:
                kilos = collect(client, spool)
                log.info("%d pickers, %.0f kg", len(kilos), kilos["kilos"].sum())
                payments = premiums(kilos)
    payments.to_csv("premiums.csv", index=False)
    log.info("paid out %.2f", payments["premium"].sum())


if __name__ == "__main__":
    main()
