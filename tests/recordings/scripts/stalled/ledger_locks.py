import os
import sys
import threading
import time

from distributed import Client, LocalCluster, Lock


def post_invoices(batch):
    with Lock("ledger"):
        time.sleep(1)
        with Lock("fx"):
            return "invoices", batch * 10


def revalue_positions(batch):
    with Lock("fx"):
        time.sleep(1)
        with Lock("ledger"):
            return "revaluation", batch * 7


def trial_balance(parts):
    return sum(v for _, v in parts)


def deadline(seconds):
    def give_up():
        print(
            f"month close not done after {seconds}s, giving up",
            file=sys.stderr,
            flush=True,
        )
        os._exit(70)

    t = threading.Timer(seconds, give_up)
    t.daemon = True
    t.start()
    return t


def main():
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="300MB", dashboard_address=None
    )
    client = Client(cluster)
    timer = deadline(25)
    a = client.submit(post_invoices, 4, workers=[0])
    b = client.submit(revalue_positions, 5, workers=[1])
    print("balance", client.submit(trial_balance, [a, b]).result())
    timer.cancel()
    client.close()
    cluster.close()


if __name__ == "__main__":
    main()
