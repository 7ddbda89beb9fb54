import pathlib, shutil, sys
import numpy as np, pandas as pd
date, seed, mode = sys.argv[1], int(sys.argv[2]), sys.argv[3]
rng = np.random.default_rng(seed)
box = pathlib.Path("inbox"); shutil.rmtree(box, ignore_errors=True); box.mkdir()
for k in range(1, 10):
    n = int(25000 * rng.uniform(0.86, 1.14))
    df = pd.DataFrame({"receipt": rng.integers(1, 10**7, n),
        "sold_at": pd.Timestamp(date) + pd.to_timedelta(rng.integers(7*3600, 19*3600, n), unit="s"),
        "qty": rng.integers(0, 9, n), "unit_price": rng.uniform(0.5, 12, n).round(2), "unit_cost": rng.uniform(0.2, 6, n).round(2)})
    if mode == "b" and k == 7:      # stall 7 got the new till software
        df = df.rename(columns={"unit_cost": "cost_net"}); df.insert(2, "till", "T2")
    df.to_csv(box / f"stall_{k:02d}.csv", index=False)
