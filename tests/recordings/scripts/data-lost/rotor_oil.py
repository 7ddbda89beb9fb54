"""Turbine health index; vibration data first, then the oil analysis."""

import logging

import numpy as np
from dask.distributed import Client, LocalCluster

logging.basicConfig(level=logging.WARNING)
log = logging.getLogger("turbine")


def vibration(turbine):
    rng = np.random.default_rng(turbine)
    return np.abs(np.fft.rfft(rng.normal(size=4096)))


def oil(turbine):
    if turbine == 3:
        raise ValueError("oil sample 3: viscosity '-' is not a number")
    return {"iron_ppm": 12 + turbine, "viscosity": 320.0}


def health(spectrum, sample):
    return round(float(spectrum[:100].mean()) / sample["iron_ppm"], 3)


def oil_step(client, turbines):
    """Returns samples; a failing laboratory must not stop the job."""
    try:
        return client.gather(client.map(oil, turbines))
    except ValueError as err:
        log.warning("laboratory import failed (%s), resetting the cluster", err)
        client.restart()
        return [{"iron_ppm": 15, "viscosity": 320.0} for _ in turbines]


def main():
    turbines = list(range(6))
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        spectra = client.map(vibration, turbines)
        samples = oil_step(client, turbines)
        scores = client.map(health, spectra, samples)
        for turbine, score in zip(turbines, client.gather(scores)):
            print("turbine", turbine, score)


if __name__ == "__main__":
    main()
