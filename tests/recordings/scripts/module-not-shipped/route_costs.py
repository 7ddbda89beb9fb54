import os
import pathlib
import tempfile

from dask.distributed import Client, LocalCluster

GEOMETRY = """
from roadnet_units import KM


def length(points):
    total = 0.0
    for (x0, y0), (x1, y1) in zip(points, points[1:]):
        total += ((x1 - x0) ** 2 + (y1 - y0) ** 2) ** 0.5
    return total / KM
"""


def route_cost(points):
    import roadnet_geometry

    return roadnet_geometry.length(points) * 1.35


def main():
    work = pathlib.Path(tempfile.mkdtemp(prefix="roadnet-"))
    module = work / "roadnet_geometry.py"
    module.write_text(GEOMETRY)
    (work / "shared").mkdir()
    (work / "shared" / "roadnet_units.py").write_text("KM = 1000.0\n")
    cluster = LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        dashboard_address=None,
        local_directory=os.fspath(work),
    )
    client = Client(cluster)
    try:
        client.upload_file(os.fspath(module))
        routes = [[(0, 0), (k * 100, 50), (k * 200, 75)] for k in range(1, 40)]
        costs = client.gather(client.map(route_cost, routes))
        print(f"{len(costs)} routes, {sum(costs):.2f} EUR")
    finally:
        client.close()
        cluster.close()


if __name__ == "__main__":
    main()
