"""Checks of the load tables of harbour cranes, run before each release.

The tables come from the structural model; the suite computes them on a local
cluster and compares them with the certificates.
"""

import numpy as np
import pytest
from distributed import Client, LocalCluster

CERTIFIED = {"kestrel": 38.0, "osprey": 52.5, "heron": 41.0}
ARMS = {"kestrel": (24.0, 912.0), "osprey": (30.0, 1575.0), "heron": (28.0, 1106.0)}


class OverloadError(ValueError):
    """More than the boom can carry."""


def rated_load(crane):
    reach, moment = ARMS[crane]
    return moment / reach


def lift(crane, tons):
    limit = rated_load(crane)
    if tons > limit:
        raise OverloadError(f"{crane}: {tons} t is above {limit:.1f} t")
    return tons / limit


def load_table(crane, radii):
    _, moment = ARMS[crane]
    return np.round(moment / np.asarray(radii), 2)


def wind_derating(load, speed):
    if speed >= 20:
        raise RuntimeError(f"out of service at {speed} m/s")
    return load * (1 - 0.01 * max(speed - 8, 0))


@pytest.fixture(scope="module")
def client():
    with LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        host="127.0.0.1",
        dashboard_address=None,
        memory_limit="300MB",
    ) as cluster:
        with Client(cluster) as c:
            yield c


def test_overload_is_refused(client):
    future = client.submit(lift, "kestrel", 45.0)
    with pytest.raises(OverloadError, match="above 38.0"):
        future.result()


def test_unknown_crane(client):
    with pytest.raises(KeyError):
        client.submit(rated_load, "albatross").result()


def test_table_shrinks_with_radius(client):
    tables = client.gather(client.map(load_table, list(ARMS), radii=[10, 15, 20, 25]))
    for table in tables:
        assert (np.diff(table) < 0).all()


def test_rated_loads_match_certificates(client):
    computed = dict(
        zip(CERTIFIED, client.gather(client.map(rated_load, list(CERTIFIED))))
    )
    for crane, tons in CERTIFIED.items():
        assert computed[crane] == pytest.approx(tons, rel=0.01), crane


@pytest.mark.parametrize("speed", [22, 28])
def test_storm_stops_the_crane(client, speed):
    load = client.submit(rated_load, "osprey")
    with pytest.raises(RuntimeError, match="out of service"):
        client.submit(wind_derating, load, speed).result()


def test_light_wind_costs_nothing(client):
    load = client.submit(rated_load, "kestrel")
    assert client.submit(wind_derating, load, 6).result() == pytest.approx(38.0)
