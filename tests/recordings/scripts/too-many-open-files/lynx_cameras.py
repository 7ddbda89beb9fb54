"""Monthly activity index from the camera-trap segments of three regions."""

import heapq
import json
import logging
import resource
import statistics
import tempfile
from contextlib import ExitStack
from pathlib import Path

from dask.distributed import Client, LocalCluster

log = logging.getLogger("lynx")

REGIONS = {"valley": 40, "ridge": 70, "plateau": 330}


def site_profile():
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(256, hard), hard))


def make_segments(root):
    for region, count in REGIONS.items():
        folder = root / region
        folder.mkdir()
        for cam in range(count):
            with open(folder / f"cam{cam:04d}.jsonl", "w") as out:
                for i in range(12):
                    row = {
                        "t": i * 600 + cam % 7,
                        "cam": cam,
                        "animals": (cam * 3 + i) % 4,
                    }
                    out.write(json.dumps(row) + "\n")


def ordered_sightings(folder):
    """All sightings of a region in order of time (segments are sorted already)."""
    with ExitStack() as stack:
        streams = [
            (json.loads(line) for line in stack.enter_context(open(path)))
            for path in sorted(Path(folder).glob("*.jsonl"))
        ]
        return list(heapq.merge(*streams, key=lambda r: r["t"]))


def visits(folder):
    """Independent visits: more than half an hour after the one before at the same camera."""
    try:
        rows = ordered_sightings(folder)
    except OSError as exc:
        logging.getLogger("lynx").warning(
            "segments of %s left for the next pass: %s", Path(folder).name, exc
        )
        return []
    last = {}
    found = []
    for row in rows:
        if row["animals"] and row["t"] - last.get(row["cam"], -99999) > 1800:
            found.append({"cam": row["cam"], "animals": row["animals"]})
        last[row["cam"]] = row["t"]
    return found


def activity_index(region, found):
    per_camera = {}
    for visit in found:
        per_camera.setdefault(visit["cam"], []).append(visit["animals"])
    group_size = statistics.mean(len(v) for v in per_camera.values())
    return {"region": region, "cameras": len(per_camera), "index": round(group_size, 2)}


def main():
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )
    site_profile()
    with tempfile.TemporaryDirectory() as tmp:
        root = Path(tmp)
        make_segments(root)
        log.info("segments of %d regions ready", len(REGIONS))
        with (
            LocalCluster(
                n_workers=1, threads_per_worker=1, dashboard_address=":0"
            ) as cluster,
            Client(cluster) as client,
        ):
            pending = {
                region: client.submit(
                    visits, str(root / region), key=f"visits-{region}"
                )
                for region in REGIONS
            }
            found = client.gather(pending)
            log.info("visits: %s", {k: len(v) for k, v in found.items()})
            report = [activity_index(region, rows) for region, rows in found.items()]
        for line in report:
            log.info("%(region)s: %(cameras)d cameras, index %(index).2f", line)


if __name__ == "__main__":
    main()
