"""Tests of the evening run that reads serology plates and fits titres to them, as the laboratory runs it before a release."""

import json
import os
import random
import time

import dask
import pytest
from dask.distributed import Client, LocalCluster

PLATES = [f"plate_{number:02d}" for number in range(1, 9)]


@pytest.fixture(scope="module")
def plates(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plates")
    rng = random.Random(3)
    for plate in PLATES:
        wells = [round(rng.random(), 4) for _ in range(96)]
        body = {"plate": plate, "reader": 3, "wells": wells}
        if plate == "plate_06":
            body["reader"] = 1
        (folder / f"{plate}.json").write_text(json.dumps(body))
    return folder


@pytest.fixture(scope="module")
def client():
    with dask.config.set({"distributed.scheduler.allowed-failures": 0}):
        with LocalCluster(
            n_workers=2,
            threads_per_worker=2,
            memory_limit="400MB",
            dashboard_address=":0",
        ) as cluster:
            with Client(cluster) as client:
                yield client


class Decoder:
    """Port of the vendor's command line decoder."""

    SUPPORTED = (2, 3)

    def __init__(self, path):
        with open(path) as text:
            self.body = json.load(text)

    def leave(self, status):
        os._exit(status)

    def wells(self):
        if self.body["reader"] not in self.SUPPORTED:
            self.leave(66)
        return self.body["wells"]


def read_plate(path):
    time.sleep(0.8)
    return Decoder(path).wells()


def fit_curve(seed):
    rng = random.Random(seed)
    total = 0.0
    for _ in range(8):
        total += rng.gauss(2.0, 0.1)
        time.sleep(0.25)
    return total / 8


def titre(wells):
    if len(wells) != 96:
        raise ValueError("a plate has 96 wells")
    return sum(wells) / len(wells)


def test_titre_of_a_plate(client):
    assert client.submit(titre, [0.5] * 96).result() == 0.5


def test_short_plate_is_refused(client):
    with pytest.raises(ValueError, match="96 wells"):
        client.submit(titre, [0.5] * 95).result()


def test_curves(client):
    fits = client.gather(client.map(fit_curve, range(4), pure=False))
    assert all(1.5 < fit < 2.5 for fit in fits)


def test_evening_run(client, plates):
    curves, titres = [], []
    for seed, plate in enumerate(PLATES):
        curves.append(client.submit(fit_curve, seed, key=f"fit_curve-{seed}"))
        wells = client.submit(
            read_plate, str(plates / f"{plate}.json"), key=f"read_plate-{plate}"
        )
        titres.append(client.submit(titre, wells, key=f"titre-{plate}"))
    values = client.gather(titres)
    assert len(values) == len(PLATES)
    assert len(client.gather(curves)) == len(PLATES)


def test_workers_answer(client):
    client.wait_for_workers(2, timeout=20)
    assert client.submit(sum, [1, 2, 3], pure=False).result(timeout=10) == 6
