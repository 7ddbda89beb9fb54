import os
import resource
import tempfile

from dask.distributed import Client, LocalCluster, get_worker


def write_shards(folder, count):
    paths = []
    for n in range(count):
        path = os.path.join(folder, f"access-{n:04d}.log")
        with open(path, "w") as fh:
            fh.write(
                "".join(
                    f"GET /item/{(n * 17 + k) % 400} {200 if k % 11 else 404}\n"
                    for k in range(60)
                )
            )
        paths.append(path)
    return paths


def limit_descriptors(spare):
    used = len(os.listdir("/proc/self/fd"))
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (used + spare, hard))
    return used + spare


def open_shard(path):
    worker = get_worker()
    cache = worker.__dict__.setdefault("shard_cache", {})
    if path not in cache:
        cache[path] = open(path)
    return cache[path]


def count_missing(path):
    shard = open_shard(path)
    shard.seek(0)
    return sum(line.endswith(" 404\n") for line in shard)


def main():
    with tempfile.TemporaryDirectory(prefix="shards-") as folder:
        paths = write_shards(folder, 240)
        cluster = LocalCluster(
            n_workers=1, threads_per_worker=2, dashboard_address=None
        )
        client = Client(cluster)
        try:
            print("descriptor limit on workers:", client.run(limit_descriptors, 64))
            counts = client.map(count_missing, paths, batch_size=40)
            print("missing pages:", sum(client.gather(counts)))
        finally:
            client.close()
            cluster.close()


if __name__ == "__main__":
    main()
