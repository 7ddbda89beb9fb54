import os
import signal
import threading
import time

from dask.distributed import Client, LocalCluster


def delays(line, day):
    time.sleep(0.25)
    return line, (line * 13 + day * 7) % 40


def worst(rows):
    return sorted(rows, key=lambda r: -r[1])[:5]


def hold(pid):
    os.kill(pid, signal.SIGSTOP)


def main():
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    client = Client(cluster)
    pids = sorted(client.run(os.getpid).values())
    timer = threading.Timer(1.5, hold, (pids[0],))
    try:
        rows = [
            client.submit(delays, line, day, key=f"delays-{line}-{day}")
            for line in range(1, 7)
            for day in range(5)
        ]
        timer.start()
        table = client.submit(worst, rows, key="worst")
        print("worst delays", table.result(timeout=11))
    finally:
        timer.cancel()
        os.kill(pids[0], signal.SIGCONT)
        client.close()
        cluster.close()


if __name__ == "__main__":
    main()
