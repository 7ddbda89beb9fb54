"""Oxygen curves of the fish ponds; dry sensors and old loggers make noise but no harm."""

import logging
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import dask.dataframe as dd
from dask.distributed import Client, LocalCluster, get_worker

log = logging.getLogger("ponds")


def deliver(folder):
    for pond in range(8):
        rng = np.random.default_rng(pond)
        oxygen = rng.normal(8, 2, 3000)
        volume = rng.normal(50, 5, 3000)
        if pond == 3:
            volume[:] = 0.0
        if pond == 6:
            oxygen[:] = np.nan
        pd.DataFrame({"pond": pond, "oxygen": oxygen, "volume": volume}).to_csv(
            folder / f"pond_{pond}.csv", index=False
        )


def saturation(part):
    time.sleep(0.3)
    worker = get_worker()
    with np.errstate(divide="warn", invalid="warn"):
        values = part["oxygen"].to_numpy() / part["volume"].to_numpy()
    if not np.isfinite(values).all():
        warnings.warn(f"pond {part['pond'].iloc[0]}: sensor ran dry")
        logging.getLogger("ponds").error(
            "ERROR: sensor of pond %s failed, values ignored", part["pond"].iloc[0]
        )
        worker.log_event("ponds", {"dry": int(part["pond"].iloc[0])})
    return part.assign(saturation=np.where(np.isfinite(values), values, np.nan))


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        deliver(folder)
        with LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="600MB",
            dashboard_address=":0",
        ) as cluster:
            with Client(cluster) as client:
                ponds = dd.read_csv(str(folder / "pond_*.csv"))
                meta = ponds._meta.assign(saturation=1.0)
                curve = ponds.map_partitions(saturation, meta=meta)
                table = (
                    curve.groupby("pond").saturation.agg(["mean", "count"]).compute()
                )
                print(table.round(4).to_string())
                dry = [event["dry"] for _, event in client.get_events("ponds")]
                log.warning("dry sensors: %s", sorted(set(dry)))
                assert int((table["count"] == 0).sum()) == 2


if __name__ == "__main__":
    main()
