import sys
import time

from distributed import Client, LocalCluster, Queue, wait

STOP = "#end-of-shift"


def scanner(gate, n):
    q = Queue("scans")
    for i in range(n):
        q.put(f"{gate}-{i:04d}")
        time.sleep(0.01)
    return n


def sorter(line):
    q = Queue("scans")
    counted = 0
    while True:
        code = q.get()
        if code == STOP:
            return line, counted
        counted += 1


def main():
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=2,
            memory_limit="300MB",
            dashboard_address=None,
        ) as cluster,
        Client(cluster) as client,
    ):
        q = Queue("scans")
        lines = [client.submit(sorter, ln) for ln in ("north", "south")]
        gates = [client.submit(scanner, g, 60) for g in ("g1", "g2")]
        sent = sum(client.gather(gates))
        q.put(STOP)
        print("scanned", sent)
        try:
            wait(lines, timeout=15)
        except TimeoutError:
            print(
                "sorters still busy:",
                [f.key for f in lines if not f.done()],
                file=sys.stderr,
            )
            sys.exit("shift report not written")
        print("sorted", client.gather(lines))


if __name__ == "__main__":
    main()
