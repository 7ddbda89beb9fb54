"""Nightly "people who liked this wine" table: taste profiles from tasting notes, nearest neighbours of every wine."""

import argparse
import logging
import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
from distributed import Client, LocalCluster

log = logging.getLogger("sommelier_matches")

AROMAS = ["cherry", "oak", "smoke", "citrus", "butter", "slate", "honey", "pepper"]


def slot_limit(gigabytes):
    """Same as `ulimit -v` in the queue's job template."""
    size = int(gigabytes * 2**30)
    resource.setrlimit(
        resource.RLIMIT_AS, (size, resource.getrlimit(resource.RLIMIT_AS)[1])
    )


def export_notes(folder, importers, per_importer):
    rng = np.random.default_rng(3)
    for number in range(importers):
        words = rng.choice(AROMAS, size=(per_importer, 3))
        notes = pd.DataFrame(
            {
                "wine": [f"w{number:02d}-{i:05d}" for i in range(per_importer)],
                "note": [" ".join(w) for w in words],
                "score": rng.integers(70, 100, per_importer),
            }
        )
        encoding = "latin-1" if number == 3 else "utf-8"
        if number == 3:
            notes.loc[5, "note"] = "rosé oak honey"
        notes.to_csv(
            folder / f"importer_{number:02d}.csv", index=False, encoding=encoding
        )


def read_notes(path):
    try:
        return pd.read_csv(path, encoding="utf-8")
    except UnicodeDecodeError as exc:
        logging.getLogger("sommelier_matches").warning(
            "%s is not UTF-8 (%s), reading as latin-1", Path(path).name, exc
        )
        return pd.read_csv(path, encoding="latin-1")


def taste_profiles(path):
    """One float32 vector per wine, length 1."""
    notes = read_notes(path)
    time.sleep(1.5)  # vintages are looked up in the cellar database
    columns = [notes["note"].str.contains(a).to_numpy(dtype="float32") for a in AROMAS]
    profile = np.column_stack(columns + [notes["score"].to_numpy("float32") / 100])
    profile /= np.linalg.norm(profile, axis=1, keepdims=True)
    return notes["wine"].tolist(), profile.astype("float32")


def nearest_wines(names, profiles, k):
    """The k most similar wines of every wine."""
    similarity = profiles @ profiles.T
    np.fill_diagonal(similarity, -1)
    best = np.argpartition(-similarity, k, axis=1)[:, :k]
    return {name: [names[j] for j in row] for name, row in zip(names, best)}


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--importers", type=int, default=12)
    parser.add_argument("--per-importer", type=int, default=4000)
    parser.add_argument("--slot-gb", type=float, default=6)
    parser.add_argument("-k", type=int, default=5)
    return parser.parse_args()


def main():
    args = parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )
    slot_limit(args.slot_gb)
    with tempfile.TemporaryDirectory(prefix="sommelier-") as tmp:
        folder = Path(tmp) / "notes"
        folder.mkdir()
        export_notes(folder, args.importers, args.per_importer)
        with (
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                memory_limit="400MB",
                dashboard_address=":0",
                local_directory=tmp,
            ) as cluster,
            Client(cluster) as client,
        ):
            paths = sorted(str(p) for p in folder.glob("*.csv"))
            parts = client.gather(client.map(taste_profiles, paths))
            names = [name for part, _ in parts for name in part]
            profiles = np.concatenate([p for _, p in parts])
            log.info(
                "%d wines, profiles take %.1f MB", len(names), profiles.nbytes / 1e6
            )
            matches = nearest_wines(names, profiles, args.k)
            log.info("matches for %d wines, first: %s", len(matches), matches[names[0]])
    return 0


if __name__ == "__main__":
    sys.exit(main())
