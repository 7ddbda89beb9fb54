import pathlib, shutil, sys
import numpy as np
seed, scale = int(sys.argv[1]), int(sys.argv[2])
rng = np.random.default_rng(seed)
d = pathlib.Path("manifests"); shutil.rmtree(d, ignore_errors=True); d.mkdir()
for k in range(5):
    n = int(13000 * scale * rng.uniform(0.9, 1.1))
    a = np.zeros(n, dtype=[("departure", "i4"), ("minutes", "i4"), ("kg", "f8")])
    a["departure"] = rng.integers(0, 1200, n); a["minutes"] = rng.integers(20, 240, n); a["kg"] = rng.gamma(3, 400, n)
    np.save(d / f"route-{k}.npy", a)
