"""Sum the royalties of the fennel press."""

import tempfile

from distributed import Client, LocalCluster


def royalty(title):
    try:
        return title["copies"] * title["share"]
    except (KeyError, TypeError) as exc:
        return exc


def main():
    titles = [{"isbn": 100 + n, "copies": 10 * n, "share": 0.1} for n in range(25)]
    titles[13].pop("share")
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
        amounts = client.gather(client.map(royalty, titles))
        total = 0.0
        for amount in amounts:
            total += amount
        print("royalties", total)


if __name__ == "__main__":
    main()
