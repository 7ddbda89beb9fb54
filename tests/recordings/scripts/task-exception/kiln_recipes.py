"""Fire plans of the pottery: unpack the kilns' log bundles, then price the glazes used."""

import json
import logging
import os
import pathlib
import shutil
import tarfile
import tempfile

from dask.distributed import Client, LocalCluster

log = logging.getLogger("kiln")
GLAZES = {"celadon": 4.1, "tenmoku": 3.6, "shino": 5.2, "ash": 2.4}


def prepare(base):
    recipes = base / "recipes"
    recipes.mkdir()
    for name, price in GLAZES.items():
        (recipes / f"{name}.json").write_text(json.dumps({"price": price, "cone": 10}))
    bundles = []
    for kiln in range(4):
        source = base / f"kiln{kiln}.log"
        source.write_text("\n".join(f"{g} {kiln + i}" for i, g in enumerate(GLAZES)))
        bundle = base / f"kiln{kiln}.tar"
        with tarfile.open(bundle, "w") as tar:
            tar.add(source, arcname="firing.log")
        bundles.append(str(bundle))
    return bundles


def read_bundle(bundle):
    scratch = tempfile.mkdtemp(prefix="firing-")
    try:
        os.chdir(scratch)
        with tarfile.open(bundle) as tar:
            tar.extractall(".", filter="data")
        print(f"unpacked {os.path.basename(bundle)} in {os.getcwd()}")
        lines = pathlib.Path("firing.log").read_text().splitlines()
    finally:
        shutil.rmtree(scratch)
    return [(g, int(n)) for g, n in (line.split() for line in lines)]


def glaze_price(glaze):
    with open(os.path.join("recipes", f"{glaze}.json")) as fh:
        return glaze, json.load(fh)["price"]


def main():
    logging.basicConfig(level=logging.INFO)
    start = os.getcwd()
    with tempfile.TemporaryDirectory() as tmp:
        bundles = prepare(pathlib.Path(tmp))
        os.chdir(tmp)
        try:
            with (
                LocalCluster(
                    n_workers=1, threads_per_worker=1, dashboard_address=None
                ) as cluster,
                Client(cluster) as client,
            ):
                celadon = client.submit(glaze_price, "celadon", pure=False).result()
                log.info("recipe book is readable: %s", celadon)
                firings = client.gather(client.map(read_bundle, bundles))
                prices = dict(
                    client.gather(client.map(glaze_price, list(GLAZES), pure=False))
                )
                print(sum(prices[g] * n for firing in firings for g, n in firing))
        finally:
            os.chdir(start)


if __name__ == "__main__":
    main()
