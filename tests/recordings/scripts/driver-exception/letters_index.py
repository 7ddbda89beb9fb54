import os
import shutil
import tempfile

import dask.bag as db

TOWNS = ["Graz", "Linz", "Wels", "Steyr", "Villach"]


def scan(folder, year):
    path = os.path.join(folder, f"letters-{year}.txt")
    encoding = "latin-1" if year == 1911 else "utf-8"
    with open(path, "w", encoding=encoding) as fh:
        for i in range(3000):
            fh.write(f"{year};{TOWNS[i % 5]};Grüße aus der Straße {i}\n")


def place(line):
    return line.split(";")[1]


def main():
    folder = tempfile.mkdtemp(prefix="archive-")
    try:
        for year in range(1908, 1914):
            scan(folder, year)
        lines = db.read_text(os.path.join(folder, "letters-*.txt"))
        counts = (
            lines.map(place).frequencies().compute(scheduler="processes", num_workers=2)
        )
        for town, n in sorted(counts):
            print(f"{town:10s}{n}")
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
