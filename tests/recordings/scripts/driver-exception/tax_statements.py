"""Tax statements: an evaluation per client group in two phases."""

from dask.distributed import Client, LocalCluster


def holdings(group):
    return [
        {"isin": f"XS{group:02d}{i:04d}", "gain": (i * 37) % 101 - 40}
        for i in range(200)
    ]


def taxable(rows, allowance):
    gain = sum(row["gain"] for row in rows)
    return max(0, gain - allowance)


def phase_one(groups):
    with LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None
    ) as cluster:
        with Client(cluster) as client:
            rows = client.map(holdings, groups)
            totals = [client.submit(taxable, part, 801) for part in rows]
            checked = client.submit(len, rows).result()
            print("groups loaded", checked)
            return totals


def phase_two(totals):
    statements = []
    for group, future in enumerate(totals):
        statements.append((group, future.result() * 0.25))
    return statements


def main():
    totals = phase_one(range(8))
    statements = phase_two(totals)
    for group, tax in statements:
        print(f"group {group}: {tax:.2f}")


if __name__ == "__main__":
    main()
