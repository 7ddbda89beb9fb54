"""Translate the diagnosis codes of discharge letters to the current catalogue."""

import argparse
import json
import logging
import random
import sys
import tempfile
from collections import Counter
from pathlib import Path

from dask import bag as db
from distributed import Client, LocalCluster, WorkerPlugin, get_worker

log = logging.getLogger("codes")

KNOWN_FORMATS = (1, 2)


def export_crosswalk(path, year):
    """The catalogue's export, as the documentation office delivers it."""
    pairs = {
        f"K{i:02d}.{j}": f"{year % 100}-K{i:02d}{j}"
        for i in range(60)
        for j in range(10)
    }
    content = {
        "catalogue": year,
        "format": 3 if year >= 2026 else 2,
        "entries": [{"from": k, "to": [v]} for k, v in pairs.items()],
    }
    path.write_text(json.dumps(content))
    return len(pairs)


class CrosswalkPlugin(WorkerPlugin):
    """Keeps the crosswalk on each worker: one copy for all of its tasks."""

    name = "crosswalk"

    def __init__(self, path):
        self.path = str(path)

    def setup(self, worker):
        content = json.loads(Path(self.path).read_text())
        if content["format"] not in KNOWN_FORMATS:
            raise ValueError(
                f"crosswalk {Path(self.path).name}: format {content['format']}, "
                f"this loader knows {KNOWN_FORMATS}"
            )
        worker.crosswalk = {e["from"]: e["to"] for e in content["entries"]}

    def teardown(self, worker):
        if hasattr(worker, "crosswalk"):
            del worker.crosswalk


def distribute_crosswalk(client, path):
    try:
        client.register_plugin(CrosswalkPlugin(path))
    except Exception:
        log.warning("crosswalk could not be refreshed, workers keep the one they have")
    else:
        log.info("crosswalk is on all workers")


def write_letters(seed, count):
    rng = random.Random(seed)
    return [
        {
            "ward": rng.choice(["surgery", "medicine", "paediatrics"]),
            "codes": [
                f"K{rng.randrange(60):02d}.{rng.randrange(10)}" for _ in range(4)
            ],
        }
        for _ in range(count)
    ]


def valid_letter(letter):
    return bool(letter["codes"]) and letter["ward"] != "unknown"


def translate_letter(letter):
    table = get_worker().crosswalk
    return {**letter, "codes": [table.get(code, "?") for code in letter["codes"]]}


def codes_per_ward(letters):
    counts = Counter()
    for letter in letters:
        counts[letter["ward"]] += len(letter["codes"])
    return counts


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--year", type=int, default=2026)
    parser.add_argument("--letters", type=int, default=4000)
    args = parser.parse_args(argv)
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s"
    )

    with tempfile.TemporaryDirectory(prefix="codes-") as tmp:
        path = Path(tmp) / f"icd-map-{args.year}.json"
        log.info("%d entries in the crosswalk", export_crosswalk(path, args.year))
        with (
            LocalCluster(
                n_workers=2, threads_per_worker=1, dashboard_address=":0"
            ) as cluster,
            Client(cluster) as client,
        ):
            distribute_crosswalk(client, path)
            letters = db.from_sequence(write_letters(3, args.letters), npartitions=8)
            letters = letters.filter(valid_letter)
            log.info("%d letters are complete", letters.count().compute())
            translated = letters.map(translate_letter)
            total = Counter()
            for counts in translated.map_partitions(
                lambda p: [codes_per_ward(p)]
            ).compute():
                total.update(counts)
            log.info("translated: %s", dict(total))
    return 0


if __name__ == "__main__":
    sys.exit(main())
