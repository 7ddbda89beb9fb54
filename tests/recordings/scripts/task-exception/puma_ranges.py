"""Home ranges of collared pumas: the prepare step publishes, the report step reads."""

import logging
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster

log = logging.getLogger("puma")
STUDY_AREA = (-73.5, -49.0, -72.0, -47.5)


def write_fixes(folder, collars=14):
    rng = np.random.default_rng(41)
    west, south, east, north = STUDY_AREA
    for collar in range(1, collars + 1):
        frame = pd.DataFrame(
            {
                "lon": rng.uniform(west + 0.1, east - 0.1, 400),
                "lat": rng.uniform(south + 0.1, north - 0.1, 400),
            }
        )
        if collar == 9:
            frame.loc[211, ["lon", "lat"]] = frame.loc[211, ["lat", "lon"]].to_numpy()
        frame.to_csv(folder / f"collar_{collar:02d}.csv", index=False)


def range_hull(path):
    fixes = pd.read_csv(path)
    west, south, east, north = STUDY_AREA
    off = fixes[~fixes.lon.between(west, east) | ~fixes.lat.between(south, north)]
    if len(off):
        row = off.iloc[0]
        raise ValueError(
            f"{Path(path).name} row {off.index[0]}: fix ({row.lon:.3f}, {row.lat:.3f}) is not in the study area"
        )
    km = 111.2 * np.ptp(fixes.lat) * 111.2 * np.cos(np.radians(48)) * np.ptp(fixes.lon)
    return {"collar": Path(path).stem, "area_km2": round(float(km), 1)}


def prepare(address, folder):
    with Client(address) as client:
        hulls = client.map(
            range_hull, sorted(str(p) for p in Path(folder).glob("collar_*.csv"))
        )
        rows = client.gather(hulls)
        table = client.scatter(pd.DataFrame(rows))
        client.publish_dataset(home_ranges=table)


def report(client):
    table = client.get_dataset("home_ranges").result()
    wide = table[table.area_km2 > table.area_km2.median()]
    log.info("%d collars, %d of them wide-ranging", len(table), len(wide))


def main():
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )
    if sys.argv[1:2] == ["prepare"]:
        return prepare(*sys.argv[2:4])
    with tempfile.TemporaryDirectory() as tmp:
        folder = Path(tmp)
        write_fixes(folder)
        with (
            LocalCluster(
                n_workers=2, threads_per_worker=1, dashboard_address=":0"
            ) as cluster,
            Client(cluster) as client,
        ):
            log.info("prepare step starts")
            with open(folder / "prepare.log", "w") as out:
                step = subprocess.run(
                    [
                        sys.executable,
                        __file__,
                        "prepare",
                        cluster.scheduler_address,
                        tmp,
                    ],
                    stdout=out,
                    stderr=subprocess.STDOUT,
                )
            log.info("prepare step ended (%d), report step starts", step.returncode)
            report(client)


if __name__ == "__main__":
    main()
