"""Monthly figures of a calico printing mill.

Each printing machine drops one Parquet file per shift.  The files are read as one table and summed by
design; afterwards the month's folder is marked as settled.
"""

import random
import shutil
import tempfile
from pathlib import Path

import dask.dataframe as dd
import pandas as pd
from distributed import Client, LocalCluster

DESIGNS = ["paisley", "rosebud", "trellis", "lattice", "marigold"]
SHIFTS = 9


def machine_file(folder, shift):
    rnd = random.Random(shift)
    rows = 2000
    metres = [round(rnd.uniform(5, 80), 1) for _ in range(rows)]
    frame = pd.DataFrame(
        {
            "design": [rnd.choice(DESIGNS) for _ in range(rows)],
            "metres": metres,
            "faults": [rnd.randrange(4) for _ in range(rows)],
        }
    )
    if shift in (4, 6, 7):
        # the new machine writes its lengths with the unit
        frame["metres"] = [f"{value} m" for value in metres]
    frame.to_parquet(folder / f"shift_{shift:02d}.parquet", index=False)


def metres_by_design(table):
    good = table[table["faults"] < 3]
    with_waste = good.assign(cloth=good["metres"] * 1.04)
    return with_waste.groupby("design")["cloth"].sum()


class Month:
    def __init__(self, name):
        self.name = name
        self.folder = Path(tempfile.mkdtemp(prefix="mill-")) / name
        self.folder.mkdir()

    def receive(self):
        for shift in range(SHIFTS):
            machine_file(self.folder, shift)

    def settle(self):
        table = dd.read_parquet(
            str(self.folder), split_row_groups=False, aggregate_files=False
        )
        figures = metres_by_design(table).compute()
        (self.folder / "settled").write_text(figures.to_json())
        return figures

    def remove(self):
        shutil.rmtree(self.folder.parent)


def main():
    month = Month("2026-10")
    month.receive()
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="450MB", dashboard_address=None
    ) as cluster:
        with Client(cluster):
            try:
                figures = month.settle()
            finally:
                month.remove()
    print(figures.round(1).to_string())


if __name__ == "__main__":
    main()
