"""Joins the price lists of the boiler part suppliers into one catalogue.

Every supplier sends a CSV on Friday.  The lists are read on the cluster, put
together to one dataframe, and the cheapest offer per part goes to the shops.
"""

import configparser
import io
import logging
from pathlib import Path

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster

SETTINGS = """
[suppliers]
names = brenner kessel thermag calorex vulkan
[cluster]
workers = 2
memory = 500MB
"""
logging.basicConfig(level=logging.INFO, format="%(levelname)-7s %(message)s")
log = logging.getLogger("parts")


def send_lists(folder, suppliers):
    rng = np.random.default_rng(5)
    for supplier in suppliers:
        frame = pd.DataFrame(
            {
                "part_no": rng.integers(10_000, 10_400, 500),
                "list_price": rng.uniform(1, 900, 500).round(2),
                "lead_days": rng.integers(1, 30, 500),
            }
        )
        if supplier == "thermag":
            prices = frame["list_price"].map("{:.2f}".format)
            frame["list_price"] = prices.where(frame.index % 97 != 13, "on request")
        text = frame.to_csv(index=False)
        if supplier == "kessel":
            text = text.replace(",", ";")
        (folder / f"{supplier}.csv").write_text(text)


class BadDelimiter(ValueError):
    pass


def read_list(path, sep=","):
    text = Path(path).read_text()
    if sep not in text.splitlines()[0]:
        raise BadDelimiter(f"{Path(path).name}: columns are not divided by {sep!r}")
    frame = pd.read_csv(io.StringIO(text), sep=sep)
    frame["supplier"] = Path(path).stem
    return frame


def separators(client, paths):
    """Tries a comma first; some suppliers have German spreadsheets."""
    found = {}
    for path in paths:
        try:
            client.submit(read_list, str(path)).result()
            found[path] = ","
        except BadDelimiter as problem:
            log.warning("%s, trying the semicolon", problem)
            found[path] = ";"
    return found


def catalogue(found):
    meta = None
    parts = []
    for path, sep in found.items():
        if meta is None:
            meta = read_list(path, sep).head(0)
        parts.append(dask.delayed(read_list)(str(path), sep))
    return dd.from_delayed(parts, meta=meta)


def cheapest(offers):
    offers = offers[offers["lead_days"] <= 21]
    best = offers.groupby("part_no")["list_price"].min()
    return best.compute().sort_index()


def main():
    settings = configparser.ConfigParser()
    settings.read_string(SETTINGS)
    suppliers = settings["suppliers"]["names"].split()
    folder = Path.cwd() / "lists"
    folder.mkdir(exist_ok=True)
    send_lists(folder, suppliers)
    cluster = LocalCluster(
        n_workers=settings["cluster"].getint("workers"),
        threads_per_worker=1,
        memory_limit=settings["cluster"]["memory"],
        dashboard_address=":0",
    )
    with cluster, Client(cluster) as client:
        found = separators(
            client, [folder / f"{supplier}.csv" for supplier in suppliers]
        )
        log.info("%d lists of %d suppliers", len(found), len(suppliers))
        best = cheapest(catalogue(found))
        best.to_csv("cheapest.csv")
        log.info("%d parts, cheapest at %.2f", len(best), best.min())


if __name__ == "__main__":
    main()
