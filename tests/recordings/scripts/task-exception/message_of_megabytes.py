"""Parse a blob; the parser puts all of it into its message."""

from dask.distributed import Client


def parse_blob(n):
    blob = "0123456789abcdef" * 250_000
    if n == 6:
        raise ValueError(f"unexpected end of record in: {blob}")
    return len(blob)


if __name__ == "__main__":
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0") as client:
        futures = client.map(parse_blob, range(12))
        print(sum(client.gather(futures)))
