"""Wait for the upstream system with Dask's retries."""

from dask.distributed import Client


class UpstreamNotReady(Exception):
    """The upstream batch has not finished."""


def fetch(batch):
    if batch == 6:
        raise UpstreamNotReady(f"batch {batch} has status RUNNING")
    return batch * 100


if __name__ == "__main__":
    client = Client(n_workers=2, threads_per_worker=1, dashboard_address=None)
    batches = client.map(fetch, range(10), retries=3)
    print(client.gather(batches))
