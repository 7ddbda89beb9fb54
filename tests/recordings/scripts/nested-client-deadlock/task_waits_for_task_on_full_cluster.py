"""Tune many models, each of which submits its folds."""

from dask.distributed import Client, get_client


def fit_fold(model, fold):
    return model * 10 + fold


def tune(model):
    client = get_client()
    folds = [client.submit(fit_fold, model, fold) for fold in range(3)]
    return max(future.result() for future in folds)


if __name__ == "__main__":
    client = Client(n_workers=2, threads_per_worker=1, dashboard_address=":0")
    models = client.map(tune, range(8))
    print("tuning", len(models), "models", flush=True)
    print(client.gather(models))
