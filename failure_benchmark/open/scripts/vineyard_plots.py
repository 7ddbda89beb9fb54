"""Rates each plot with a model that is sent to the workers once."""

from dask.distributed import Client, wait


class Model:
    def rate(self) -> float:
        raise ValueError("no soil sample for this plot")


def rate_of(client: Client):
    model = client.scatter(Model())
    return client.submit(lambda each: each.rate(), model, key="rate-plot-17")


if __name__ == "__main__":
    with Client(n_workers=1, threads_per_worker=1) as client:
        rating = rate_of(client)
        wait(rating)
        print(rating.result())
