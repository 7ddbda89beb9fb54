"""Learns the yields of apple trees from what was measured of them."""

import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.distributed import Client
from xgboost import dask as dxgb

if __name__ == "__main__":
    random = np.random.default_rng(7)
    trees = pd.DataFrame(
        random.random((900, 4)), columns=["age", "height", "soil", "sun"]
    )
    yields = trees["age"] * 30 + trees["sun"] * 12
    with Client(n_workers=2, threads_per_worker=1) as client:
        measured = dd.from_pandas(trees, npartitions=2)
        harvested = dd.from_pandas(yields, chunksize=700)
        matrix = dxgb.DaskDMatrix(client, measured, harvested)
        found = dxgb.train(client, {"tree_method": "hist"}, matrix, num_boost_round=5)
        print(found["booster"].num_boosted_rounds())
