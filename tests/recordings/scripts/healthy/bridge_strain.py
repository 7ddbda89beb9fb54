import os
import signal
import threading
import time

from dask.distributed import Client, LocalCluster


def strain(gauge):
    time.sleep(0.2)
    return gauge, (gauge * 31) % 47


def maintenance(pid):
    os.kill(pid, signal.SIGSTOP)
    time.sleep(3)
    os.kill(pid, signal.SIGCONT)


def main():
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        pid = max(client.run(os.getpid).values())
        window = threading.Thread(target=maintenance, args=(pid,))
        futures = client.map(strain, range(50))
        time.sleep(1)
        window.start()
        values = client.gather(futures)
        window.join()
        print("highest strain", max(v for _, v in values))


if __name__ == "__main__":
    main()
