"""Fit one model for each region; each fit submits its folds from inside its task."""

from dask.distributed import Client, worker_client


def score_fold(region, fold):
    weights = {0: 3, 1: 2, 2: 0 if region == "west" else 1}
    return 10 / weights[fold]


def fit_region(region):
    with worker_client() as client:
        folds = client.map(score_fold, [region] * 3, range(3))
        return sum(client.gather(folds))


if __name__ == "__main__":
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0") as client:
        futures = client.map(fit_region, ["north", "east", "south", "west"])
        print(dict(zip(["north", "east", "south", "west"], client.gather(futures))))
