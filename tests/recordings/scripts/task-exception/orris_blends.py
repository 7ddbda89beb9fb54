"""Prices of orris root blends.

Suppliers' price lists (semicolon-separated text, one per supplier) are turned
into one blend price per perfume house.
"""

import decimal
import json
import os
import pathlib
import sys
import traceback
from decimal import Decimal

import dask
from distributed import Client, LocalCluster, as_completed

SUPPLIERS = [
    "firenze",
    "pontassieve",
    "meknes",
    "grasse",
    "siena",
    "arezzo",
    "rabat",
    "lucca",
]
HOUSES = {
    "maison-vert": ["firenze", "grasse", "meknes"],
    "casa-viola": ["pontassieve", "siena"],
    "atelier-nuit": ["rabat", "lucca", "arezzo"],
}


def write_lists(folder):
    folder.mkdir(exist_ok=True)
    for s, name in enumerate(SUPPLIERS):
        rows = ["grade;kilos;price"]
        for g in range(40):
            price = f"{900 + 13 * s + g}.{(g * 7) % 100:02}"
            rows.append(f"G{g:02};{5 + g % 6};{price}")
        if name == "lucca":
            rows[27] = "G26;7;1.017,82"
        if name == "siena":
            rows.insert(10, "# new harvest below")
        (folder / f"{name}.csv").write_text("\n".join(rows) + "\n")


def open_share(folder, name):
    """The share needs to be woken up: the first access of the night is refused."""
    flag = pathlib.Path(folder) / f".awake-{name}"
    if name in ("grasse", "siena") and not flag.exists():
        flag.touch()
        raise ConnectionResetError(104, f"share of {name} went away")
    return (pathlib.Path(folder) / f"{name}.csv").read_text()


def parse_price_list(text):
    prices = []
    for line in text.splitlines()[1:]:
        if line.startswith("#"):
            continue
        grade, kilos, price = line.split(";")
        prices.append((grade, Decimal(kilos), Decimal(price)))
    return prices


def supplier_mean(prices):
    kilos = sum(k for _, k, _ in prices)
    return sum(k * p for _, k, p in prices) / kilos


def blend(means):
    return (sum(means) / len(means)).quantize(Decimal("0.01"), decimal.ROUND_HALF_EVEN)


def run(client, folder):
    texts = {s: client.submit(open_share, folder, s, retries=2) for s in SUPPLIERS}
    means = {
        s: client.submit(supplier_mean, client.submit(parse_price_list, text))
        for s, text in texts.items()
    }
    wanted = {
        client.submit(blend, [means[s] for s in suppliers]): house
        for house, suppliers in HOUSES.items()
    }
    prices, failed = {}, []
    for future in as_completed(wanted):
        house = wanted[future]
        try:
            prices[house] = str(future.result())
        except Exception:
            traceback.print_exc()
            failed.append(house)
    return prices, failed


def main():
    folder = pathlib.Path("lists")
    write_lists(folder)
    with dask.config.set({"distributed.comm.timeouts.connect": "10s"}):
        with (
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                memory_limit=0,
                dashboard_address=None,
            ) as cluster,
            Client(cluster) as client,
        ):
            prices, failed = run(client, os.fspath(folder.resolve()))
    pathlib.Path("blends.json").write_text(json.dumps(prices, indent=1))
    print(f"{len(prices)} houses priced, {len(failed)} not")
    if failed:
        sys.exit(f"no price for {', '.join(failed)}")


if __name__ == "__main__":
    main()
