import time

from distributed import Client, LocalCluster


def assemble_stiffness(n):
    end = time.time() + 22
    acc, k = 0.0, 0
    while time.time() < end:
        acc += sum(i * 1e-9 for i in range(n))
        k += 1
    return k


def safety_factor(k):
    return 1.5 if k > 0 else 0.0


def main():
    with (
        LocalCluster(
            n_workers=1,
            threads_per_worker=1,
            memory_limit="300MB",
            dashboard_address=None,
        ) as cluster,
        Client(cluster) as client,
    ):
        k = client.submit(assemble_stiffness, 2_000_000)
        while not k.done():
            print("still assembling …", flush=True)
            time.sleep(4)
        print("safety factor", client.submit(safety_factor, k).result())


if __name__ == "__main__":
    main()
