"""Roll up unit costs through the bill of materials."""

import dask
from dask.distributed import Client, LocalCluster

PARTS = {
    "bicycle": ["frame", "wheel", "drivetrain"],
    "frame": ["tube", "paint"],
    "wheel": ["rim", "hub", "spoke"],
    "hub": ["axle", "bearing"],
    "drivetrain": ["crank", "chain", "cassette"],
    "cassette": ["sprocket", "spacer"],
    "crank": ["spindle"],
    "spindle": ["bearing", "crank"],
}
PRICES = {
    "tube": 18,
    "paint": 4,
    "rim": 11,
    "spoke": 0.4,
    "axle": 3,
    "bearing": 2,
    "chain": 9,
    "sprocket": 5,
    "spacer": 0.5,
}


def price_of(part):
    return PRICES[part]


def add_up(costs):
    return sum(costs)


def cost_graph():
    graph = {("cost", p): (price_of, p) for p in PRICES}
    for part, children in PARTS.items():
        graph[("cost", part)] = (add_up, [("cost", c) for c in children])
    return graph


def main():
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        graph = cost_graph()
        print(
            "wheel:",
            client.get(
                {
                    k: v
                    for k, v in graph.items()
                    if k[1] not in ("bicycle", "drivetrain", "crank", "spindle")
                },
                ("cost", "wheel"),
            ),
        )
        print("bicycle:", client.get(graph, ("cost", "bicycle")))


if __name__ == "__main__":
    main()
