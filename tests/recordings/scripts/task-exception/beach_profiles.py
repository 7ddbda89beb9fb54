"""Volume of sand along surveyed beach profiles, for the coastal protection plan.

A survey team brings one profile per beach (distance and height). Profiles are
integrated in parallel; the plan needs every beach of the list.
"""

import collections
import sys

import numpy as np
from distributed import Client, LocalCluster, as_completed

BEACHES = [
    "amrum",
    "baltrum",
    "fedderwarden",
    "hooksiel",
    "juist",
    "langeoog",
    "sylt",
    "wangerooge",
]
DATUM_SHIFT = {"NHN": 0.0, "NN": -0.02, "LAT": 2.31}


class Profile:
    def __init__(self, beach, datum, distance, height):
        self.beach = beach
        self.datum = datum
        self.distance = distance
        self.height = height

    def to_nhn(self):
        return self.height - DATUM_SHIFT[self.datum]

    def above(self, level):
        return np.clip(self.to_nhn() - level, 0, None)


def survey(beach):
    """The profile as the team handed it in."""
    rng = np.random.default_rng(len(beach))
    distance = np.linspace(0, 180, 2000)
    height = 6 * np.exp(-distance / 60) - 1 + rng.normal(0, 0.05, distance.size)
    datum = "NHN"
    if beach in ("fedderwarden", "langeoog", "wangerooge"):
        datum = "SKN"
    elif beach == "sylt":
        datum = "NN"
    return Profile(beach, datum, distance, height)


def sand_volume(profile, level=1.5):
    return float(np.trapezoid(profile.above(level), profile.distance))


def tide_gauge(beach):
    """Gauges are asked first; a beach without one uses the regional level."""
    if beach in ("hooksiel", "juist"):
        raise LookupError(f"no gauge at {beach}")
    return 1.5 + len(beach) / 100


def levels(client):
    found = {}
    asked = dict(zip(client.map(tide_gauge, BEACHES), BEACHES))
    for future in as_completed(asked):
        beach = asked[future]
        try:
            found[beach] = future.result()
        except LookupError:
            found[beach] = 1.55
    return found


def main():
    volumes, missing = {}, collections.OrderedDict()
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address=None,
            memory_limit="300MB",
        ) as cluster,
        Client(cluster) as client,
    ):
        level = levels(client)
        profiles = client.map(survey, BEACHES)
        volume = [
            client.submit(sand_volume, p, level[b]) for p, b in zip(profiles, BEACHES)
        ]
        beach_of = dict(zip((f.key for f in volume), BEACHES))
        for future in as_completed(volume):
            beach = beach_of[future.key]
            try:
                volumes[beach] = future.result()
            except Exception:
                missing[beach] = future.key

    for beach, value in sorted(volumes.items()):
        print(f"{beach:14s} {value:8.1f} m3/m")
    if missing:
        sys.exit(f"{len(missing)} of {len(BEACHES)} failed")


if __name__ == "__main__":
    main()
