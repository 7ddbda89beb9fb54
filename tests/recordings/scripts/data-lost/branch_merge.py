"""Merge two branches' accounts; each branch has its own small cluster."""

from dask.distributed import Client, LocalCluster


def accounts(branch, count):
    return {f"{branch}-{i}": i * 11 % 97 for i in range(count)}


def merge(left, right):
    clash = left.keys() & right.keys()
    return len(left) + len(right) - len(clash)


def main():
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address=None, name="lyon"
        ) as lyon,
        LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address=None, name="turin"
        ) as turin,
    ):
        with (
            Client(lyon, set_as_default=False) as c_lyon,
            Client(turin, set_as_default=False) as c_turin,
        ):
            a = c_lyon.submit(accounts, "lyon", 400)
            b = c_turin.submit(accounts, "turin", 350)
            print("lyon", len(a.result()), "turin", len(b.result()))
            merged = c_turin.submit(merge, a, b, key="merge-branches")
            print("merged", merged.result(timeout=12))


if __name__ == "__main__":
    main()
