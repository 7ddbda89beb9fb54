import numpy as np
from dask.distributed import Client, LocalCluster


def fit_fold(fold, features):
    import joblib

    with joblib.parallel_backend("threading"):
        return fold, float(features.mean())


def main():
    features = np.random.default_rng(3).normal(size=(500, 8))
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    client = Client(cluster)
    try:
        remote = client.scatter(features, broadcast=True)
        folds = client.map(fit_fold, range(5), features=remote)
        scores = client.gather(folds)
        print("auc", max(s for _, s in scores))
    finally:
        client.close()
        cluster.close()


if __name__ == "__main__":
    main()
