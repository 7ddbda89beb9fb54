import random
import sys
import time

from distributed import Client, LocalCluster, Semaphore, as_completed

ADDRESSES = [f"{n} Harbour Road" if n % 5 else "" for n in range(1, 31)]


def lookup(address, gate):
    gate.acquire()
    if not address:
        return None
    time.sleep(0.2)
    pos = (round(random.random(), 4), round(random.random(), 4))
    gate.release()
    return pos


def run(client):
    gate = Semaphore(max_leases=2, name="geocoder")
    futs = [client.submit(lookup, a, gate, pure=False) for a in ADDRESSES]
    found = 0
    for fut in as_completed(futs, timeout=18):
        found += fut.result() is not None
    return found


def main():
    with LocalCluster(
        n_workers=2, threads_per_worker=2, memory_limit="300MB", dashboard_address=None
    ) as cluster:
        with Client(cluster) as client:
            try:
                print("geocoded", run(client))
            except TimeoutError as e:
                print("geocoding stalled", repr(e), file=sys.stderr)
                sys.exit(1)


if __name__ == "__main__":
    main()
