"""Checks of the barn audit's scoring before the inspectors get the new version.

Run by the build server every night against a small cluster.
"""

import numpy as np
import pandas as pd
import pytest

import dask.array as da
import dask.dataframe as dd
from distributed import Client, LocalCluster

WEIGHTS = {"light": 0.2, "bedding": 0.35, "water": 0.3, "noise": 0.15}


class AuditError(ValueError):
    pass


def score_barn(barn):
    missing = set(WEIGHTS) - set(barn)
    if missing:
        raise AuditError(f"barn {barn.get('id')} has no {sorted(missing)}")
    if any(not 0 <= barn[k] <= 10 for k in WEIGHTS):
        raise AuditError(f"barn {barn['id']}: mark out of range")
    return sum(barn[k] * w for k, w in WEIGHTS.items())


def grade(score):
    return "ABCD"[int(np.digitize(-score, [-8, -6, -4]))]


def weighted_mean(frame):
    return (frame.score * frame.animals).sum() / frame.animals.sum()


def barns(n, seed=5):
    rng = np.random.default_rng(seed)
    return [
        {
            "id": i,
            "animals": int(rng.integers(10, 200)),
            **{k: float(rng.integers(2, 10)) for k in WEIGHTS},
        }
        for i in range(n)
    ]


@pytest.fixture(scope="module")
def client():
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="350MB", dashboard_address=None
    ) as cluster:
        with Client(cluster) as c:
            yield c


def test_scores_are_in_range(client):
    scores = client.gather(client.map(score_barn, barns(40)))
    assert len(scores) == 40
    assert all(2 <= s <= 10 for s in scores)


def test_missing_mark_is_refused(client):
    barn = barns(1)[0]
    del barn["water"]
    with pytest.raises(AuditError, match="water"):
        client.submit(score_barn, barn).result()


@pytest.mark.parametrize("mark", [-1, 11, 1e9])
def test_mark_out_of_range_is_refused(client, mark):
    barn = {**barns(1)[0], "noise": mark}
    future = client.submit(score_barn, barn)
    with pytest.raises(AuditError, match="out of range"):
        future.result()
    assert future.status == "error"


def test_bad_barn_does_not_spoil_the_others(client):
    herd = barns(10)
    herd[4]["light"] = 99
    futures = client.map(score_barn, herd)
    good = client.gather(futures, errors="skip")
    assert len(good) == 9


def test_regional_mean(client):
    herd = barns(60)
    frame = pd.DataFrame(
        {
            "score": [score_barn(b) for b in herd],
            "animals": [b["animals"] for b in herd],
            "region": [("north", "south", "coast")[b["id"] % 3] for b in herd],
        }
    )
    regions = dd.from_pandas(frame, npartitions=4)
    means = regions.groupby("region").score.mean().compute()
    expected = {
        r: weighted_mean(frame[frame.region == r]) for r in ("north", "south", "coast")
    }
    for region in expected:
        assert means[region] == pytest.approx(expected[region], rel=1e-6), region


def test_grades(client):
    assert client.gather(client.map(grade, [9.0, 7.0, 5.0, 1.0])) == [
        "A",
        "B",
        "C",
        "D",
    ]


def test_noise_map(client):
    noise = da.ones((400, 400), chunks=200) * 3
    assert float(noise.mean().compute()) == 3.0
