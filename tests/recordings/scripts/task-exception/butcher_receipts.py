"""Turnover of the butchers' cooperative by cut of meat.

The tills of the branches write one line for each sale.  The lines of all branches are read into a bag, parsed and
folded by cut; the result goes to the purchasing department.
"""

import os
import random
from functools import partial
from operator import itemgetter

import dask.bag as db
from distributed import Client, LocalCluster

CUTS = ["brisket", "chuck", "flank", "loin", "rib", "shank", "sirloin"]
BRANCHES = ["aachen", "eupen", "kerkrade", "liege", "maastricht", "vaals"]
COMMA = {"eupen", "liege", "vaals"}  # tills that were set up by the other vendor


def write_tills(folder, lines=300):
    os.makedirs(folder, exist_ok=True)
    for branch in BRANCHES:
        rnd = random.Random(branch)
        with open(os.path.join(folder, f"{branch}.till"), "w") as f:
            f.write(f"# till of {branch}\n")
            for i in range(lines):
                kilos = f"{rnd.uniform(0.2, 3.5):.3f}"
                price = f"{rnd.uniform(9, 42):.2f}"
                if branch in COMMA and i > 200:
                    kilos, price = kilos.replace(".", ","), price.replace(".", ",")
                f.write(f"{i:05d}|{branch}|{rnd.choice(CUTS)}|{kilos}|{price}\n")


def is_sale(line):
    return bool(line.strip()) and not line.startswith("#")


def parse_receipt(line, rounding=2):
    number, branch, cut, kilos, price = line.rstrip("\n").split("|")
    return {
        "number": int(number),
        "branch": branch,
        "cut": cut,
        "amount": round(float(kilos) * float(price), rounding),
    }


def add(total, sale):
    return total + sale["amount"]


def turnover(folder):
    lines = db.read_text(os.path.join(folder, "*.till"))
    sales = lines.filter(is_sale).map(partial(parse_receipt, rounding=2))
    by_cut = sales.foldby(
        itemgetter("cut"), add, 0.0, combine=lambda a, b: a + b, combine_initial=0.0
    )
    return by_cut


def main():
    write_tills("tills")
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="350MB", dashboard_address=None
    ) as cluster:
        with Client(cluster) as client:
            print("branches:", ", ".join(BRANCHES))
            n_lines = db.read_text("tills/*.till").filter(is_sale).count().compute()
            print("sales:", n_lines)
            for cut, amount in sorted(turnover("tills").compute()):
                print(f"{cut:<10}{amount:>12.2f}")
            print("workers:", len(client.scheduler_info()["workers"]))


if __name__ == "__main__":
    main()
