"""Monthly revenue of a group of clinics: each clinic drops a Parquet file, the controller gets one table by department.

Clinics use different accounting software, but the columns were agreed on years ago.
"""

import logging
import sys
import tempfile
from pathlib import Path

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import Client, LocalCluster

dask.config.set({"dataframe.convert-string": True})
log = logging.getLogger("invoices")

CLINICS = ["altstadt", "birkenau", "elbufer", "lindenhof", "seeblick"]
DEPARTMENTS = ["surgery", "cardiology", "radiology", "outpatient"]


def drop_files(folder: Path) -> None:
    for number, clinic in enumerate(CLINICS):
        rng = np.random.default_rng(number)
        rows = 4_000
        frame = pd.DataFrame(
            {
                "invoice": np.arange(rows) + number * 100_000,
                "department": rng.choice(DEPARTMENTS, rows),
                "net_amount": rng.uniform(12, 3_800, rows).round(2),
                "insurer_code": rng.integers(1000, 1040, rows),
            }
        )
        if clinic == "lindenhof":  # new software since November
            frame["insurer_code"] = "K" + frame["insurer_code"].astype(str)
        frame.to_parquet(folder / f"{clinic}.parquet", index=False)


class Controller:
    def __init__(self, folder: Path):
        self.folder = folder
        self.invoices = dd.read_parquet(str(folder / "*.parquet"))

    def correction_sheet(self) -> pd.DataFrame:
        """Corrections are entered by hand and often missing."""
        try:
            return pd.read_csv(self.folder / "corrections.csv")
        except FileNotFoundError:
            log.info("no corrections this month")
            return pd.DataFrame({"invoice": [], "net_amount": []})

    def revenue(self) -> pd.Series:
        return self.invoices.groupby("department").net_amount.sum().compute()

    def by_insurer(self) -> pd.DataFrame:
        private = self.invoices[self.invoices.insurer_code >= 1030]
        return (
            private.groupby("insurer_code").net_amount.agg(["count", "sum"]).compute()
        )


def main() -> int:
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
    with tempfile.TemporaryDirectory(prefix="invoices-") as name:
        folder = Path(name)
        drop_files(folder)
        with (
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                memory_limit="450MB",
                dashboard_address=None,
            ) as cluster,
            Client(cluster),
        ):
            controller = Controller(folder)
            corrections = controller.correction_sheet()
            revenue = controller.revenue()
            log.info(
                "revenue of %d departments, %d corrections",
                len(revenue),
                len(corrections),
            )
            print(revenue.round(0).to_string())
            insurers = controller.by_insurer()
            print(insurers.nlargest(5, "sum").to_string())
    return 0


if __name__ == "__main__":
    sys.exit(main())
