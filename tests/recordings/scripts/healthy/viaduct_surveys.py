"""Monthly survey of the railway's viaducts.

Laser scanners on the piers deliver their points through a gateway that drops connections now and then, and some
piers have no scanner yet.  Tasks are retried; piers without data get last month's figure and are listed for the
field team.
"""

import collections
import json
import logging
import tempfile
from pathlib import Path

from distributed import Client, LocalCluster, as_completed, get_worker

log = logging.getLogger("survey")

VIADUCTS = {"Ribble Head": 24, "Arten Gill": 11, "Dent Head": 10, "Smardale": 14}
NO_SCANNER = {("Arten Gill", 3), ("Smardale", 12)}
LAST_MONTH = collections.defaultdict(lambda: 1.5, {("Arten Gill", 3): 1.1})


class GatewayBusy(ConnectionError):
    pass


class NoScanner(LookupError):
    pass


def pier_points(viaduct, pier, state):
    """Points of a pier as the gateway hands them out."""
    if (viaduct, pier) in NO_SCANNER:
        raise NoScanner(f"{viaduct} pier {pier}")
    visits = Path(state) / f"{viaduct.replace(' ', '_')}_{pier}.visits"
    count = int(visits.read_text()) + 1 if visits.exists() else 1
    visits.write_text(str(count))
    if pier % 6 == 5 and count < 3:
        raise GatewayBusy(f"gateway dropped {viaduct} pier {pier} on visit {count}")
    return [((pier * 37 + k * 11) % 200) / 100 for k in range(500)]


def settlement(viaduct, pier, state):
    """Settlement of a pier in millimetres, with the worker that took it."""
    points = pier_points(viaduct, pier, state)
    points.sort()
    trimmed = points[25:-25]
    return {
        "viaduct": viaduct,
        "pier": pier,
        "mm": sum(trimmed) / len(trimmed),
        "by": str(get_worker().name),
    }


def survey(client, state):
    futures = {}
    for viaduct, piers in VIADUCTS.items():
        for pier in range(1, piers + 1):
            future = client.submit(
                settlement,
                viaduct,
                pier,
                state,
                retries=0 if (viaduct, pier) in NO_SCANNER else 3,
            )
            futures[future] = (viaduct, pier)
    rows, visits_needed = [], []
    for future in as_completed(futures):
        viaduct, pier = futures[future]
        try:
            rows.append(future.result())
        except NoScanner as reason:
            log.info("%s: last month's figure", reason)
            visits_needed.append((viaduct, pier))
            rows.append(
                {
                    "viaduct": viaduct,
                    "pier": pier,
                    "mm": LAST_MONTH[viaduct, pier],
                    "by": "hand",
                }
            )
    return rows, sorted(visits_needed)


def main():
    logging.basicConfig(
        level=logging.INFO, format="%(levelname)s %(name)s: %(message)s"
    )
    with tempfile.TemporaryDirectory(prefix="viaducts-") as state:
        with LocalCluster(
            n_workers=2,
            threads_per_worker=2,
            memory_limit="400MB",
            dashboard_address=":0",
        ) as cluster:
            with Client(cluster) as client:
                rows, visits_needed = survey(client, state)
    worst = max(rows, key=lambda row: row["mm"])
    report = {"piers": len(rows), "worst": worst, "field_team": visits_needed}
    Path("survey.json").write_text(json.dumps(report, indent=1))
    print(
        f"{len(rows)} piers, worst {worst['viaduct']} {worst['pier']} with {worst['mm']:.2f} mm; "
        f"{len(visits_needed)} piers to visit"
    )
    assert len(rows) == sum(VIADUCTS.values())


if __name__ == "__main__":
    main()
