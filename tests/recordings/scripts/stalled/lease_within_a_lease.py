"""Write to a database with one connection for all: a semaphore."""

from dask.distributed import Client, Semaphore


def write_row(semaphore, row):
    with semaphore:
        return row


def write_batch(semaphore, rows):
    with semaphore:
        return [write_row(semaphore, row) for row in rows]


if __name__ == "__main__":
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0") as client:
        connection = Semaphore(max_leases=1, name="warehouse-connection")
        futures = client.map(
            lambda rows: write_batch(connection, rows), [[1, 2], [3, 4]]
        )
        print([each.result(timeout=20) for each in futures])
