import tempfile
from pathlib import Path

import dask.dataframe as dd
from distributed import Client

NAMES = ["Müller", "Söhne", "Nuñez", "Smith", "O'Brien", "Lefèvre"]


def exports(folder):
    for i, enc in enumerate(["utf-8", "utf-8", "cp1252", "utf-8"]):
        rows = "".join(
            f"{i * 1000 + k};{NAMES[k % 6]};c{k}@example.org\n" for k in range(500)
        )
        (folder / f"crm_{'abcd'[i]}.csv").write_bytes(
            ("id;name;mail\n" + rows).encode(enc)
        )
    return str(folder / "crm_*.csv")


def normalise(part):
    return part.assign(name=part["name"].str.casefold().str.strip())


def main():
    with tempfile.TemporaryDirectory() as tmp:
        pattern = exports(Path(tmp))
        client = Client(
            processes=False,
            n_workers=1,
            threads_per_worker=2,
            dashboard_address=None,
            memory_limit="800MB",
        )
        try:
            crm = dd.read_csv(pattern, sep=";")
            crm = crm.map_partitions(normalise)
            people = crm.drop_duplicates(subset=["name", "mail"])
            print("distinct contacts", len(people))
            print(people.head(3))
        finally:
            client.close()


if __name__ == "__main__":
    main()
