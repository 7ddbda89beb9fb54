"""Three stages; errors of the first are expected, one of the third is not."""

from dask.distributed import Client, wait


def load(n):
    if n % 9 == 0:
        raise FileNotFoundError(f"/srv/in/day-{n}.csv")
    return list(range(n))


def clean(rows):
    return [row for row in rows if row % 2]


def rank(rows):
    return max(rows, key=lambda row: row if row < 25 else str(row))


def main():
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0") as client:
        loaded = client.map(load, range(1, 31))
        wait(loaded)
        good = [each for each in loaded if each.status == "finished"]
        print(len(loaded) - len(good), "days are missing, as on every holiday")
        cleaned = client.map(clean, good)
        ranked = client.map(rank, cleaned[1:])
        print(client.gather(ranked))


if __name__ == "__main__":
    main()
