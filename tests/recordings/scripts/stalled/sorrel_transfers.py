"""Book the sorrel transfers between accounts, one account at a time per worker."""

import tempfile
import time

from distributed import Client, LocalCluster, Lock


def book_transfer(source, target, amount):
    with Lock(f"account-{source}"):
        time.sleep(3)
        with Lock(f"account-{target}"):
            time.sleep(0.1)
            return source, target, amount


def main():
    transfers = [
        ("flour", "honey", 40),
        ("honey", "flour", 15),
        ("honey", "salt", 9),
        ("salt", "flour", 3),
    ]
    with (
        tempfile.TemporaryDirectory() as tmp,
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            dashboard_address=None,
            local_directory=tmp,
        ) as cluster,
        Client(cluster) as client,
    ):
        futures = [client.submit(book_transfer, *transfer) for transfer in transfers]
        for booked in client.gather(futures):
            print("booked", booked)


if __name__ == "__main__":
    main()
