"""Mill line: millers fill hoppers, baggers empty them; both run as tasks of one cluster."""

import time

from dask.distributed import Client, LocalCluster, Queue

LOADS = 60


def moisture(silo):
    time.sleep(0.25)
    return silo, 13.5 + silo % 4 * 0.3


def mill(silo, humidity, loads):
    hopper = Queue("hopper")
    for load in range(loads):
        time.sleep(0.02)
        hopper.put((silo, load, round(25 - humidity / 10, 2)))
    return loads


def bag(bagger, loads):
    hopper = Queue("hopper")
    kilograms = 0.0
    for _ in range(loads):
        silo, load, weight = hopper.get()
        kilograms += weight
    return bagger, kilograms


def main():
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="400MB", dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            client.wait_for_workers(2)
            hopper = Queue("hopper", maxsize=10)
            humidity = dict(client.gather(client.map(moisture, range(8))))
            print("mean moisture:", sum(humidity.values()) / len(humidity))
            mills = [
                client.submit(mill, silo, humidity[silo], LOADS, key=f"mill-{silo}")
                for silo in (0, 1)
            ]
            time.sleep(1)
            bags = [
                client.submit(bag, bagger, LOADS, key=f"bag-{bagger}")
                for bagger in ("left", "right")
            ]
            shift_end = time.monotonic() + 15
            for future in mills + bags:
                try:
                    print(
                        future.key,
                        future.result(timeout=max(0.1, shift_end - time.monotonic())),
                    )
                except TimeoutError:
                    states = {other.key: other.status for other in mills + bags}
                    raise SystemExit(
                        f"shift is over, line stopped with {hopper.qsize()} loads in the hopper: {states}"
                    )


if __name__ == "__main__":
    main()
