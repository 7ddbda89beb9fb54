import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster


def feed(depot, start, n=3000):
    when = pd.date_range(start, periods=n, freq="min")
    return pd.DataFrame(
        {
            "when": when,
            "depot": depot,
            "delay": np.random.default_rng(n).normal(2, 4, n),
        }
    )


def main():
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=2, dashboard_address=None
        ) as cluster,
        Client(cluster),
    ):
        stops = dd.concat(
            [
                dd.from_pandas(feed("central", "2026-09-01"), npartitions=2),
                dd.from_pandas(feed("harbour", "2026-09-02"), npartitions=2),
            ]
        ).set_index("when", sorted=True)
        weather = dd.from_map(
            lambda d: pd.DataFrame(
                {"rain": np.arange(24.0)}, index=pd.date_range(d, periods=24, freq="h")
            ),
            ["2026-09-01", "2026-09-02", "2026-09-03"],
        )
        joined = dd.concat([stops, weather], axis=1, interleave_partitions=True)
        print(joined.delay.corr(joined.rain).compute())
        print(joined.loc["2026-09-02"].delay.mean().compute())


if __name__ == "__main__":
    main()
