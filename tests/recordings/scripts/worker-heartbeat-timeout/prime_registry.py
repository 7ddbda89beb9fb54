import dask
from dask.distributed import Client, LocalCluster


def certificate(bits):
    n = (1 << bits) - 159
    witness = pow(3, n - 1, n)
    return bits, witness == 1


def label(result):
    bits, ok = result
    return f"{bits}: {'probable prime' if ok else 'composite'}"


def main():
    dask.config.set(
        {
            "distributed.scheduler.worker-ttl": "3 s",
            "distributed.scheduler.allowed-failures": 0,
        }
    )
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    client = Client(cluster)
    try:
        sizes = [127, 255, 512, 1024, 24_000, 300]
        labels = client.map(label, client.map(certificate, sizes))
        for line in client.gather(labels):
            print(line)
    finally:
        client.close()
        cluster.close()


if __name__ == "__main__":
    main()
