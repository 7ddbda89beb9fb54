import pathlib, sys
import numpy as np, pandas as pd

seed, dest = int(sys.argv[1]), pathlib.Path(sys.argv[2])
rng = np.random.default_rng(seed)
dest.mkdir(parents=True, exist_ok=True)
for depot in ["hamburg", "bremen", "kiel", "rostock"]:
    for i in range(2):
        n = int(60000 * rng.uniform(0.88, 1.12))
        pd.DataFrame(
            {
                "depot": depot,
                "grams": np.clip(rng.gamma(2.0, 1500.0, n), 20, 31400).round(),
                "bulky": (rng.random(n) < 0.03).astype("int64"),
            }
        ).to_parquet(dest / f"{depot}_{i}.parquet")
