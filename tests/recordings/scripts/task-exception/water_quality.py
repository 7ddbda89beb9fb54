import io
import warnings

import dask.dataframe as dd
import pandas as pd
from dask.distributed import Client

GOOD = "site,taken,ph\n" + "".join(
    f"W{k % 4},2026-0{k % 9 + 1}-1{k % 8},{6 + k % 3}\n" for k in range(200)
)
LATE = GOOD + "W3,2026-13-04,7\n" + "W1,2026-02-11,7\n"


def parse(text):
    return pd.read_csv(io.StringIO(text)).astype({"site": "object", "taken": "object"})


def stamp(part):
    return part.assign(taken=pd.to_datetime(part.taken, format="%Y-%m-%d"))


def main():
    warnings.simplefilter("ignore")
    meta = pd.DataFrame(
        {
            "site": pd.Series(dtype="object"),
            "taken": pd.Series(dtype="object"),
            "ph": pd.Series(dtype="i8"),
        }
    )
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=None):
        samples = dd.from_map(parse, [GOOD, GOOD, LATE, GOOD], meta=meta)
        stamped = samples.map_partitions(
            stamp, meta=meta.assign(taken=pd.Series(dtype="M8[us]"))
        )
        print(stamped.groupby("site").taken.max().compute())


if __name__ == "__main__":
    main()
