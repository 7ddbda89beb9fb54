"""Says of mushrooms of the lowlands whether they can be eaten."""

import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.distributed import Client
from dask_ml.wrappers import ParallelPostFit
from sklearn.linear_model import LogisticRegression

if __name__ == "__main__":
    random = np.random.default_rng(3)
    found = pd.DataFrame({"height": np.arange(800) / 10, "cap": random.random(800)})
    eaten = random.random(800) > 0.4
    guide = ParallelPostFit(LogisticRegression()).fit(found, eaten)
    with Client(n_workers=2, threads_per_worker=1) as client:
        mushrooms = dd.from_pandas(found, npartitions=8)
        lowland = mushrooms[mushrooms.height < 40]
        print(guide.predict(lowland).compute().sum())
