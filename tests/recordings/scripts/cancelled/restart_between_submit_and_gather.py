"""A helper restarts the workers to get rid of a leak; results were not gathered yet."""

from dask.distributed import Client, wait


def features(n):
    return [n] * 10


def free_memory(client):
    client.restart()


def main():
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0") as client:
        futures = client.map(features, range(20))
        wait(futures)
        free_memory(client)
        print(len(client.gather(futures)))


if __name__ == "__main__":
    main()
