"""Daily mean of the plum orchard's water meters from the collected CSV files."""

import tempfile
from pathlib import Path

import dask.dataframe as dd
from distributed import Client, LocalCluster


def write_files(folder):
    for day in range(4):
        with open(folder / f"meters-{day}.csv", "w") as f:
            f.write("meter,litres,site\n")
            for n in range(3000):
                litres = "offline" if day == 3 and n == 1800 else 100 + n % 17
                f.write(f"{n % 40},{litres},row{n % 5}\n")


def main():
    with tempfile.TemporaryDirectory() as tmp:
        folder = Path(tmp)
        write_files(folder)
        with (
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                dashboard_address=None,
                local_directory=tmp,
            ) as cluster,
            Client(cluster),
        ):
            readings = dd.read_csv(str(folder / "meters-*.csv"))
            print(readings.groupby("site").litres.mean().compute())


if __name__ == "__main__":
    main()
