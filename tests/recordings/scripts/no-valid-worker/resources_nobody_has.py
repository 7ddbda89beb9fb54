"""Embeddings want a GPU, this cluster has none."""

from dask.distributed import Client, LocalCluster


def tokenise(text):
    return text.split()


def embed(tokens):
    return [len(token) for token in tokens]


if __name__ == "__main__":
    with LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            tokens = client.map(tokenise, ["a small text", "another one", "and so on"])
            vectors = client.map(embed, tokens, resources={"GPU": 1})
            print([vector.result(timeout=15) for vector in vectors])
