from concurrent.futures import as_completed

from dask.distributed import Client, LocalCluster

CLASSES = {"A61": "medical", "H04": "telecom", "G06": "computing", "B60": "vehicles"}


def classify(doc):
    number, code = doc.split("/")
    return number, CLASSES[code]


def main():
    docs = [f"EP{1000 + k}/{['A61', 'H04', 'G06', 'B60'][k % 4]}" for k in range(30)]
    docs.insert(17, "EP2999/Y02")
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        with client.get_executor(pure=False) as executor:
            pending = [executor.submit(classify, d) for d in docs]
            table = dict(f.result() for f in as_completed(pending))
    print(len(table), "patents")


if __name__ == "__main__":
    main()
