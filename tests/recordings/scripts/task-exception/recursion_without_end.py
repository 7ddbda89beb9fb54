"""Flatten nested categories, one of which contains itself."""

from dask.distributed import Client


def depth(tree, name):
    children = tree.get(name, [])
    return 1 + max((depth(tree, child) for child in children), default=0)


def depth_of_catalogue(n):
    tree = {"all": ["food", "tools"], "food": ["fruit"], "tools": []}
    if n == 3:
        tree["fruit"] = ["food"]
    return depth(tree, "all")


if __name__ == "__main__":
    with Client(n_workers=1, threads_per_worker=2, dashboard_address=":0") as client:
        print(client.gather(client.map(depth_of_catalogue, range(8))))
