"""Wait until a stage is announced, under a misspelt name."""

from dask.distributed import Client, Event


def load(n):
    Event("stage-1-done").wait()
    return n


if __name__ == "__main__":
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0") as client:
        Event("stage1-done", client=client).set()
        print(client.submit(load, 5).result(timeout=18))
