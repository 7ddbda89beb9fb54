import time

from distributed import CancelledError, Client, LocalCluster, as_completed


def tour_length(seed, rounds):
    length = 1000.0
    for r in range(rounds):
        time.sleep(0.05)
        length *= 0.995 - (seed % 3) * 0.001
    return seed, length


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
        futs = [client.submit(tour_length, s, 20 + 10 * s) for s in range(16)]
        for fut in as_completed(futs):
            seed, length = fut.result()
            print("seed", seed, "length", round(length, 1))
            if length < 900:
                break
        rest = [f for f in futs if not f.done()]
        client.cancel(rest)
        dropped = 0
        for f in rest:
            try:
                f.result(timeout=5)
            except CancelledError as e:
                dropped += 1
                print("not needed:", e)
        print("good enough, dropped", dropped)


if __name__ == "__main__":
    main()
