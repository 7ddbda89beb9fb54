"""Cross-validation with joblib on Dask."""

import joblib
from dask.distributed import Client


def evaluate(fold, penalty):
    if penalty < 0:
        raise ValueError(f"penalty must not be negative, got {penalty} in fold {fold}")
    return sum(n % (fold + 2) for n in range(20_000)) / (1 + penalty)


if __name__ == "__main__":
    client = Client(n_workers=2, threads_per_worker=1, dashboard_address=":0")
    grid = [(fold, penalty) for fold in range(5) for penalty in (1.0, 0.1, 0.0, -0.1)]
    with joblib.parallel_config(backend="dask"):
        scores = joblib.Parallel(verbose=5)(
            joblib.delayed(evaluate)(fold, penalty) for fold, penalty in grid
        )
    print(max(scores))
