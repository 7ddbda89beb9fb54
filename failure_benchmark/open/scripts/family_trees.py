"""Counts the descendants in family trees, and logs each tree as an event."""

from typing import Any

from dask.distributed import Client, get_worker


def tree_of(family: int) -> dict[str, Any]:
    root: dict[str, Any] = {"name": f"ancestor {family}", "children": []}
    for number in range(3):
        child = {"name": f"child {number}", "parent": root, "children": []}
        root["children"].append(child)
    return root


def descendants(family: int) -> int:
    tree = tree_of(family)
    get_worker().log_event("trees", tree)
    return len(tree["children"])


if __name__ == "__main__":
    with Client(n_workers=2, threads_per_worker=1) as client:
        print(sum(client.gather(client.map(descendants, range(8)))))
