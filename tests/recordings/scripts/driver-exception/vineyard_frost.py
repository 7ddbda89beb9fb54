"""Frost risk per vineyard; the station override file is optional."""

import os
import tempfile
import time

import pandas as pd
from dask.distributed import Client, LocalCluster


def read_override(folder):
    return pd.read_csv(os.path.join(folder, "override.csv"))


def night_minimum(parcel):
    time.sleep(0.4)
    temps = pd.Series([(parcel * 7 + h) % 13 - 4 for h in range(24)])
    return {
        "parcel": parcel,
        "t_min": float(temps.min()),
        "hours_below": int((temps < 0).sum()),
    }


def warnings_for(rows):
    frame = pd.DataFrame(rows).set_index("parcel")
    risky = frame[frame["hours_below"] > 3]
    return risky["tmin"].sort_values()


def main():
    with tempfile.TemporaryDirectory() as folder:
        with LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="400MiB",
            dashboard_address=":0",
        ) as cluster:
            with Client(cluster) as client:
                try:
                    override = client.submit(read_override, folder).result()
                except FileNotFoundError:
                    print("no override today, using the stations as they are")
                    override = None
                rows = client.gather(client.map(night_minimum, range(12)))
                if override is not None:
                    rows += override.to_dict("records")
                print(warnings_for(rows).to_string())


if __name__ == "__main__":
    main()
