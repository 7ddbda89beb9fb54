import tempfile
from pathlib import Path

import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import Client, LocalCluster


def landing_zone(root):
    rng = np.random.default_rng(1)
    for i in range(6):
        pd.DataFrame(
            {
                "shipment": np.arange(i * 100, i * 100 + 100),
                "depot": rng.integers(0, 9, 100),
                "kg": rng.random(100) * 40,
            }
        ).to_parquet(root / f"part.{i}.parquet")
    victim = root / "part.4.parquet"
    data = victim.read_bytes()
    victim.write_bytes(data[: len(data) * 2 // 3])
    return root


def main():
    with tempfile.TemporaryDirectory() as tmp:
        root = landing_zone(Path(tmp))
        depots = dd.from_pandas(
            pd.DataFrame({"depot": range(9), "city": list("ABCDEFGHI")}), npartitions=1
        )
        with (
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                memory_limit="500MB",
                dashboard_address=None,
            ) as cluster,
            Client(cluster) as client,
        ):
            print(client)
            ships = dd.concat(
                [
                    dd.from_map(
                        pd.read_parquet,
                        [str(p)],
                        meta=pd.DataFrame({"shipment": [1], "depot": [1], "kg": [1.0]})[
                            :0
                        ],
                    )
                    for p in sorted(root.glob("*.parquet"))
                ]
            )
            joined = ships.merge(depots, on="depot")
            print(joined.groupby("city").kg.sum().compute())


if __name__ == "__main__":
    main()
