"""Brine densities: checks of the salt works' density pipeline against the laboratory's reference table.

Run with pytest before every release; the cluster is shared by all the checks.
"""

import numpy as np
import pandas as pd
import pytest
from dask import dataframe as dd
from distributed import Client, LocalCluster

REFERENCE = {"pan-1": 1.187, "pan-2": 1.201, "pan-3": 1.168}


class OutOfScale(ValueError):
    """The hydrometer ends at 1.25."""


def density(conductivity, celsius):
    if conductivity > 260:
        raise OutOfScale(f"conductivity {conductivity} is beyond the scale")
    return 1.0 + conductivity * 0.00095 - (celsius - 20) * 0.0004


def read_pan(pan):
    table = {"pan-1": (200, 27.5), "pan-2": (215, 27.5), "pan-3": (180, 27.5)}
    return table[pan]


def measured(pan):
    conductivity, celsius = read_pan(pan)
    return round(density(conductivity, celsius), 3)


def samples():
    rng = np.random.default_rng(11)
    return pd.DataFrame(
        {
            "pan": np.repeat(sorted(REFERENCE), 200),
            "conductivity": np.concatenate(
                [rng.normal(mean, 0.5, 200) for mean in (200, 215, 180)]
            ),
            "celsius": rng.normal(27.5, 0.05, 600),
        }
    )


def add_density(part):
    return part.assign(
        density=1.0 + part.conductivity * 0.00095 - (part.celsius - 20) * 0.0040
    )


@pytest.fixture(scope="module")
def client():
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="400MB",
            dashboard_address=None,
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


def test_scale_is_respected(client):
    with pytest.raises(OutOfScale):
        client.submit(density, 300, 20).result()


def test_unknown_pan(client):
    future = client.submit(read_pan, "pan-9")
    with pytest.raises(KeyError):
        future.result()
    assert future.status == "error"


def test_single_values(client):
    values = client.gather(client.map(measured, sorted(REFERENCE)))
    assert values == [REFERENCE[pan] for pan in sorted(REFERENCE)]


def test_warm_brine_is_lighter(client):
    cold, warm = client.gather(
        [client.submit(density, 200, 10), client.submit(density, 200, 30)]
    )
    assert warm < cold


def test_table_agrees_with_laboratory(client):
    frame = dd.from_pandas(samples(), npartitions=4)
    means = frame.map_partitions(add_density).groupby("pan").density.mean().compute()
    for pan, expected in REFERENCE.items():
        assert means[pan] == pytest.approx(expected, abs=0.003), (
            f"mean density of {pan} is off"
        )


def test_bad_temperature_is_refused(client):
    with pytest.raises(TypeError, match="unsupported operand"):
        client.submit(density, 200, "27.5").result()
