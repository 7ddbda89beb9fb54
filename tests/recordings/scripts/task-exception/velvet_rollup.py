"""Roll up velvet sales by region, with the tariffs that lie beside the job."""

import json
import os
import tempfile
from pathlib import Path

from distributed import Client, LocalCluster


def unpack_region(base, region):
    target = Path(base) / region
    target.mkdir(exist_ok=True)
    os.chdir(target)
    rows = [{"sku": f"{region}-{n}", "metres": 2 + n} for n in range(20)]
    with open("sales.json", "w") as f:
        json.dump(rows, f)
    return os.path.abspath("sales.json")


def price_region(path):
    with open("tariffs.json") as f:
        tariffs = json.load(f)
    rows = json.loads(Path(path).read_text())
    return sum(row["metres"] for row in rows) * tariffs["metre"]


def check_tariffs():
    with open("tariffs.json") as f:
        return json.load(f)["metre"] > 0


def main():
    home = os.getcwd()
    with tempfile.TemporaryDirectory() as tmp:
        os.chdir(tmp)
        Path("tariffs.json").write_text(json.dumps({"metre": 14.5}))
        try:
            with (
                LocalCluster(
                    n_workers=2,
                    threads_per_worker=1,
                    dashboard_address=None,
                    local_directory=tmp,
                ) as cluster,
                Client(cluster) as client,
            ):
                assert all(client.run(check_tariffs).values())
                paths = client.map(
                    unpack_region,
                    [tmp] * 6,
                    ["north", "south", "east", "west", "isles", "docks"],
                )
                totals = client.map(price_region, paths)
                print("rolled up:", sum(client.gather(totals)))
        finally:
            os.chdir(home)


if __name__ == "__main__":
    main()
