"""The reader must run where the disk is mounted."""

from dask.distributed import Client, wait

STORAGE_HOST = "10.20.30.40"


def read_block(number):
    return bytes(number)


def main():
    client = Client(n_workers=2, threads_per_worker=1, dashboard_address=":0")
    blocks = client.map(read_block, range(6), workers=[STORAGE_HOST])
    sizes = client.map(len, blocks)
    print("waiting for", len(sizes), "sizes", flush=True)
    wait(sizes)
    print(sum(client.gather(sizes)))


if __name__ == "__main__":
    main()
