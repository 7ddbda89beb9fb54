"""Three of 30 pages cannot be read; gather() skips them, by choice."""

from dask.distributed import Client


def read(n):
    if n % 10 == 3:
        raise UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte")
    return n


if __name__ == "__main__":
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0") as client:
        print(len(client.gather(client.map(read, range(30)), errors="skip")), "pages")
