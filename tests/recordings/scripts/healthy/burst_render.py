import time

from distributed import Client, LocalCluster, as_completed


def frame(i):
    time.sleep(0.25)
    return i, (i * 31) % 255


def main():
    with (
        LocalCluster(
            n_workers=0,
            threads_per_worker=1,
            memory_limit="300MB",
            dashboard_address=None,
        ) as cluster,
        Client(cluster) as client,
    ):
        cluster.adapt(minimum=0, maximum=2, interval="300ms", wait_count=2)
        for shot in range(2):
            futs = client.map(frame, range(shot * 40, shot * 40 + 40))
            done = [f.result() for f in as_completed(futs)]
            print(
                "shot",
                shot,
                len(done),
                "frames with",
                len(client.scheduler_info()["workers"]),
                "workers",
            )
            del futs, done
            deadline = time.time() + 8
            while client.scheduler_info()["workers"] and time.time() < deadline:
                time.sleep(0.3)
            print("workers after idle:", len(client.scheduler_info()["workers"]))


if __name__ == "__main__":
    main()
