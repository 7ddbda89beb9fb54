"""Somebody raised the recursion limit, 'to be safe'."""

import sys

from dask.distributed import Client


class Node:
    def __init__(self, child):
        self.child = child

    def __repr__(self):
        return f"Node({self.child!r})"


def draw_tree(levels):
    sys.setrecursionlimit(10**8)
    node = Node(None)
    for _ in range(levels):
        node = Node(node)
    return len(repr(node))


if __name__ == "__main__":
    with Client(n_workers=1, threads_per_worker=2, dashboard_address=":0") as client:
        print(client.gather(client.map(draw_tree, [10, 100, 3_000_000])))
