"""Nightly check of a charity's mailing list: households that would get the appeal twice.

Addresses are compared within their postcode district, all against all. Run by the nightly test job:
the list may go to the printer when this file passes.
"""

import random

import dask
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster

DISTRICTS = ["AB1", "BN3", "CF5", "DH7", "EX2", "FY8", "GU4", "HX1"]
SEED = 1128


def address_list():
    """Donors as the fundraising system exports them; those who gave on the street have no district yet."""
    rng = random.Random(SEED)
    rows = []
    for district in DISTRICTS:
        for _ in range(600):
            street = (
                f"{rng.randint(1, 90)} {rng.choice(['Mill', 'Church', 'Station'])} Road"
            )
            rows.append((district, street, len(rows)))
    rows += [
        ("unknown", f"{n % 977} Collected on the street", len(rows) + n)
        for n in range(260_000)
    ]
    return pd.DataFrame(rows, columns=["district", "street", "donor"])


def vectorise(streets):
    """Letters of the address as counts; short, because it is compared very often."""
    table = np.zeros((len(streets), 8), dtype=np.float64)
    for row, street in enumerate(streets):
        for letter in street.lower():
            table[row, ord(letter) % 8] += 1
    return table


def pairs_alike(district, addresses, threshold=0.999):
    vectors = vectorise(addresses["street"])
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    likeness = vectors @ vectors.T
    np.fill_diagonal(likeness, 0.0)
    return district, int((likeness > threshold).sum() // 2)


@pytest.fixture(scope="module")
def client():
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="500MB", dashboard_address=":0"
    )
    client = Client(cluster)
    yield client
    client.close()
    cluster.close()


@pytest.fixture(scope="module")
def addresses():
    return address_list()


def test_every_donor_once(addresses):
    assert addresses["donor"].is_unique


def test_one_district_first(client, addresses):
    sample = addresses[addresses["district"] == "EX2"]
    district, pairs = dask.delayed(pairs_alike)("EX2", sample).compute()
    assert district == "EX2" and pairs > 0


def test_pairs_of_all_districts(client, addresses):
    delayed = [
        dask.delayed(pairs_alike)(district, group[["street", "donor"]])
        for district, group in addresses.groupby("district")
    ]
    counts = dict(dask.compute(*delayed))
    print("pairs that look alike:", counts)
    assert set(counts) == set(addresses["district"])


def test_list_is_not_empty(addresses):
    assert len(addresses) > 1000
