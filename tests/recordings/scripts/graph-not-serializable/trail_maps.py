"""Walking times on the trail map: the map is a tree of junctions that know their parents without keeping them alive."""

import weakref

import dask
from dask.distributed import Client


class Junction:
    def __init__(self, name, minutes=0, parent=None):
        self.name = name
        self.minutes = minutes
        self.children = []
        self._parent = weakref.ref(parent) if parent else None
        if parent:
            parent.children.append(self)

    @property
    def parent(self):
        return self._parent() if self._parent else None

    def walk(self):
        return self.minutes + (self.parent.walk() if self.parent else 0)


@dask.delayed
def longest(hut):
    return max([hut.walk(), *(child.walk() for child in hut.children)])


def build():
    valley = Junction("valley")
    huts = [Junction(f"hut{n}", 40 + n, valley) for n in range(3)]
    for n, hut in enumerate(huts):
        Junction(f"summit{n}", 75, hut)
    return valley, huts


def main():
    valley, huts = build()
    print("control:", huts[0].children[0].walk())
    with Client(n_workers=1, threads_per_worker=2, dashboard_address=None):
        print(dask.compute(*[longest(hut) for hut in huts]))


if __name__ == "__main__":
    main()
