"""Margin per basket: join sales lines with the article master."""

import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster


def article_master(day):
    """Master data as delivered; each delivery appends to the same extract."""
    base = pd.DataFrame({"article": np.arange(200), "cost": np.linspace(1, 40, 200)})
    deliveries = [base.assign(delivered=day)]
    for resend in range(900):
        deliveries.append(base[base.article < 20].assign(delivered=day))
    return pd.concat(deliveries, ignore_index=True)


def sales_lines(store):
    rng = np.random.default_rng(store)
    n = 40_000
    return pd.DataFrame(
        {
            "basket": rng.integers(0, 5000, n),
            "article": rng.integers(0, 200, n),
            "price": rng.uniform(2, 60, n),
        }
    )


def enrich(lines, master):
    joined = lines.merge(master, on="article", how="left")
    joined["margin"] = joined["price"] - joined["cost"]
    return joined


def per_basket(joined):
    return joined.groupby("basket")["margin"].sum()


def main():
    with (
        LocalCluster(
            n_workers=1,
            threads_per_worker=1,
            memory_limit="350MiB",
            dashboard_address=None,
        ) as cluster,
        Client(cluster) as client,
    ):
        master = client.submit(article_master, "2026-11-23")
        lines = client.map(sales_lines, range(4))
        joined = [client.submit(enrich, part, master) for part in lines]
        margins = client.map(per_basket, joined)
        for store, margin in enumerate(client.gather(margins)):
            print(store, round(float(margin.mean()), 2))


if __name__ == "__main__":
    main()
