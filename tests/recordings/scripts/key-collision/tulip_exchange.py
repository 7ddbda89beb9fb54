"""Convert the tulip exchange's turnover, currency by currency."""

import tempfile

from distributed import Client, LocalCluster

RATES = {"EUR": 1.0, "SEK": 0.09, "GBP": 1.17}


def turnover(currency, amounts):
    return currency, sum(amounts) * RATES[currency]


def main():
    books = {"EUR": [10, 20], "SEK": [100, 400], "GBP": [5, 5, 5]}
    with (
        tempfile.TemporaryDirectory() as tmp,
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            dashboard_address=None,
            local_directory=tmp,
        ) as cluster,
        Client(cluster) as client,
    ):
        futures = {}
        for currency, amounts in books.items():
            futures[currency] = client.submit(
                turnover, currency, amounts, key="turnover-2026-11-26"
            )
        converted = dict(client.gather(list(futures.values())))
        for currency in books:
            print(currency, converted[currency])


if __name__ == "__main__":
    main()
