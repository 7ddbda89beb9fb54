"""Check the kelp harvesters' landings against the quota table."""

import logging

import pandas as pd
from dask.distributed import Client, LocalCluster, worker_client

log = logging.getLogger("kelp")
BEDS = ["Skagen", "Fehmarn", "Hiddensee"]
YEARS = range(2019, 2026)


def quota_table():
    rows = [
        (bed, year, 40.0 + 3 * i + (year - 2019))
        for i, bed in enumerate(BEDS)
        for year in YEARS
    ]
    rows = [r for r in rows if r[:2] != ("Fehmarn", 2022)]
    return pd.Series({(bed, year): tonnes for bed, year, tonnes in rows})


def landings(bed, year):
    return [2.5 + (len(bed) * year + n) % 7 for n in range(9)]


def used(bed, year, quotas):
    table = quotas.to_dict()
    return year, round(sum(landings(bed, year)) / table[bed, year], 3)


def bed_report(bed, quotas):
    """The years of a bed, side by side on the cluster."""
    with worker_client() as client:
        futures = [
            client.submit(used, bed, year, quotas, key=f"used-{bed}-{year}")
            for year in YEARS
        ]
        shares = client.gather(futures)
    return bed, max(shares, key=lambda item: item[1])


class QuotaCheck:
    def __init__(self, client):
        self.client = client
        self.quotas = client.scatter(quota_table(), broadcast=True)

    def run(self):
        reports = [self.client.submit(bed_report, bed, self.quotas) for bed in BEDS]
        return self.client.gather(reports)


def main():
    logging.basicConfig(level=logging.INFO)
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=2, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        for bed, (year, share) in QuotaCheck(client).run():
            log.info("%s: highest use %.0f %% in %d", bed, 100 * share, year)


if __name__ == "__main__":
    main()
