"""Loans and returns of the city libraries, one frame per branch."""

import dask.dataframe as dd
import pandas as pd
from dask.distributed import Client, LocalCluster


def branch_frame(branch):
    return pd.DataFrame(
        {
            "branch": branch,
            "media": range(200),
            "days": [(i * branch) % 40 for i in range(200)],
        }
    )


def with_total(part):
    total = pd.DataFrame(
        {"branch": [-1], "media": [-1], "days": [int(part["days"].sum())]}
    )
    return part.append(total, ignore_index=True)


def main():
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster),
    ):
        loans = dd.from_map(branch_frame, range(1, 7))
        meta = pd.DataFrame(
            {
                "branch": pd.Series(dtype="i8"),
                "media": pd.Series(dtype="i8"),
                "days": pd.Series(dtype="i8"),
            }
        )
        out = loans.map_partitions(with_total, meta=meta).compute()
        print(out[out["branch"] == -1])


if __name__ == "__main__":
    main()
