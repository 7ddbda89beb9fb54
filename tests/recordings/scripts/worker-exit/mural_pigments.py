"""Pigment inventory of the murals: classify the spectra, then write the restorers' report."""

import json
import logging
import os
import pathlib
import tempfile

import dask
from dask.distributed import Client, LocalCluster

log = logging.getLogger("murals")
REFERENCE = {"ochre": 590, "azurite": 460, "malachite": 530, "cinnabar": 620}


def spectra(mural):
    peaks = [455 + (mural * 41 + n * 29) % 170 for n in range(40)]
    if mural == 9:
        peaks[17] = 0
    return peaks


class SpectralLibrary:
    """Thin wrapper around the instrument maker's matcher."""

    def __init__(self, reference):
        self.reference = reference

    def match(self, peak):
        if not 380 <= peak <= 760:
            print(
                f"matcher: fatal: wavelength {peak} nm outside of the calibrated range",
                flush=True,
            )
            os._exit(3)
        return min(
            self.reference, key=lambda pigment: abs(self.reference[pigment] - peak)
        )


@dask.delayed
def classify(mural):
    library = SpectralLibrary(REFERENCE)
    found = {}
    for peak in spectra(mural):
        pigment = library.match(peak)
        found[pigment] = found.get(pigment, 0) + 1
    return mural, found


def inventory(client, murals):
    return dict(dask.compute(*[classify(m) for m in range(murals)]))


def report(path, client):
    try:
        pigments = inventory(client, 14)
        walls = sorted(pigments, key=lambda m: -len(pigments[m]))
    finally:
        summary = {
            "walls": walls,
            "samples": sum(sum(p.values()) for p in pigments.values()),
        }
        path.write_text(json.dumps(summary))
        log.info("report in %s", path.name)


def main():
    logging.basicConfig(level=logging.INFO)
    dask.config.set({"distributed.scheduler.allowed-failures": 1})
    with tempfile.TemporaryDirectory() as tmp:
        with (
            LocalCluster(
                n_workers=2, threads_per_worker=1, dashboard_address=None
            ) as cluster,
            Client(cluster) as client,
        ):
            report(pathlib.Path(tmp) / "pigments.json", client)


if __name__ == "__main__":
    main()
