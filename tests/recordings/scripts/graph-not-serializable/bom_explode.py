"""Bill-of-materials explosion: walk the assembly chain and price it."""

from distributed import Client, LocalCluster


class Part:
    def __init__(self, number, cost):
        self.number = number
        self.cost = cost
        self.parent = None
        self.child = None


def assembly(depth):
    top = Part("ROOT", 0.0)
    node = top
    for i in range(depth):
        nxt = Part(f"P{i:05d}", 0.01 * (i % 13))
        nxt.parent, node.child = node, nxt
        node = nxt
    return top


def rollup(top):
    cost, node = 0.0, top
    while node is not None:
        cost += node.cost
        node = node.child
    return round(cost, 2)


def main():
    catalogue = {"bracket": 12, "gearbox": 160, "harvester": 60000, "cabin": 90}
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="400MB",
            dashboard_address=None,
        ) as cluster,
        Client(cluster) as client,
    ):
        prices = {}
        for product, depth in catalogue.items():
            tree = assembly(depth)
            prices[product] = client.submit(rollup, tree, key=f"rollup-{product}")
        for product, fut in prices.items():
            print(product, fut.result())


if __name__ == "__main__":
    main()
