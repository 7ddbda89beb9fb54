"""Tasks read the model's version from a Variable; its name has a typo."""

from dask.distributed import Client, Variable


def predict(n):
    version = Variable("model_version").get()
    return f"{version}:{n}"


if __name__ == "__main__":
    with Client(n_workers=1, threads_per_worker=2, dashboard_address=":0") as client:
        Variable("model-version").set("2026-11")
        futures = client.map(predict, range(4))
        print([each.result(timeout=20) for each in futures])
