"""Cupping scores: rank the lots, then compare the ranking with the house reference."""

from dask.distributed import Client


def load(season):
    return {
        "reference": {"aroma": 7.5, "body": 7.0},
        "huila": {"aroma": 8.1, "body": 7.2},
        "narino": {"aroma": 7.9, "body": 7.9},
        "cauca": {"aroma": 7.0, "body": 8.2},
    }


def rank(lots):
    lots.pop("reference")
    return sorted(lots, key=lambda lot: -sum(lots[lot].values()))


def compare(lots, ranking):
    house = lots["reference"]
    return {
        lot: {k: round(v - house[k], 2) for k, v in lots[lot].items()}
        for lot in ranking
    }


class CuppingFailed(Exception):
    pass


def main():
    with Client(n_workers=1, threads_per_worker=1, dashboard_address=None) as client:
        lots = client.submit(load, "2026-main")
        ranking = client.submit(rank, lots)
        try:
            print("ranking", ranking.result())
            print("against the house:", client.submit(compare, lots, ranking).result())
        except KeyError as error:
            raise CuppingFailed(f"season sheet incomplete: {error}") from error


if __name__ == "__main__":
    main()
