import contextlib
import os
import sys
import tempfile
import warnings

import dask.dataframe as dd
from dask.distributed import Client, LocalCluster


def write_port(folder, port, n=400):
    with open(os.path.join(folder, f"landings-{port}.csv"), "w") as fh:
        fh.write("vessel,species,kg\n")
        for k in range(n):
            fh.write(f"V{k % 23},{('cod', 'hake', 'sole')[k % 3]},{(k * 37) % 400}\n")
            if k % 97 == 11:
                fh.write(f"V{k % 23},cod,{k},corrected,by,harbour\n")


def quotas(folder):
    limits = {"cod": 30_000, "hake": 45_000, "sole": 90_000}
    with contextlib.suppress(FileNotFoundError):
        with open(os.path.join(folder, "override.txt")) as fh:
            limits.update(line.split("=") for line in fh)
    return limits


def main():
    warnings.simplefilter("default")
    with tempfile.TemporaryDirectory(prefix="landings-") as folder:
        for port in ("brest", "vigo", "bergen", "hull"):
            write_port(folder, port)
        limits = quotas(folder)
        with (
            LocalCluster(
                n_workers=2, threads_per_worker=1, dashboard_address=None
            ) as cluster,
            Client(cluster),
        ):
            landings = dd.read_csv(
                os.path.join(folder, "landings-*.csv"), on_bad_lines="warn"
            )
            total = landings.groupby("species").kg.sum().compute()
        exceeded = [s for s, kg in total.items() if kg > limits[s]]
    print("ERROR-FREE RUN, quota exceeded for:", ", ".join(exceeded) or "none")
    sys.exit(0)


if __name__ == "__main__":
    main()
