"""Machine translation of product manuals.

Pages are translated with a phrase table. The translation memory lives in a small module of its own, as it does in
production, and is written next to this script when it starts.
"""

import json
import os
import random
import sys
import time
from pathlib import Path

os.environ["DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES"] = "0"
# a paused worker held up the whole spring edition, so workers go on here
os.environ["DASK_DISTRIBUTED__WORKER__MEMORY__PAUSE"] = "False"

from dask.distributed import Client, KilledWorker, wait  # noqa: E402

MODULE = '''
"""Translation memory: phrases seen so far, so that terms stay the same through a manual."""
import random

import numpy as np

DIM = 96
_seen = {}


def embed(phrase):
    """Vector of a phrase; known phrases are looked up."""
    if phrase not in _seen:
        rng = np.random.default_rng(sum(map(ord, phrase)))
        _seen[phrase] = rng.standard_normal((len(phrase.split()) * 4, DIM))
    return _seen[phrase]


def nearest(phrase, table):
    v = embed(phrase).mean(axis=0)
    return max(table, key=lambda t: float(v[:8] @ np.asarray(t[1])))[0]
'''

WORDS = (
    "remove the left front cover plate before oil filter screw turns clockwise torque bearing housing "
    "check gasket lower upper rear axle hydraulic pump valve spring ring pin washer clip"
).split()


def page_text(manual, page, phrases=650):
    rng = random.Random(f"{manual}/{page}")
    return [" ".join(rng.choices(WORDS, k=rng.randint(4, 9))) for _ in range(phrases)]


def translate_page(manual, page, table):
    """Translate one page, phrase by phrase."""
    import phrase_memory

    out = [phrase_memory.nearest(p, table) for p in page_text(manual, page)]
    return {"manual": manual, "page": page, "terms": len(set(out)), "phrases": len(out)}


def phrase_table(n=12):
    rng = random.Random(3)
    return [(f"T{i:03d}", [rng.gauss(0, 1) for _ in range(8)]) for i in range(n)]


class Edition:
    def __init__(self, manuals):
        self.manuals = manuals
        self.started = time.time()
        self.stats = {m: [] for m in manuals}

    def translate(self, client):
        table = phrase_table()
        for manual, pages in self.manuals.items():
            futures = [
                client.submit(
                    translate_page, manual, p, table, key=f"translate_page-{manual}-{p}"
                )
                for p in range(pages)
            ]
            wait(futures)
            self.stats[manual] = client.gather(futures)
            print(
                f"{manual}: {pages} pages after {time.time() - self.started:.1f} s",
                flush=True,
            )
            del futures

    def save(self, path):
        path.write_text(json.dumps({m: len(s) for m, s in self.stats.items()}))


def main():
    here = Path(__file__).resolve().parent
    (here / "phrase_memory.py").write_text(MODULE)
    edition = Edition(
        {"pump-200": 20, "pump-300": 30, "loader-7": 120, "loader-9": 160}
    )
    with Client(
        n_workers=2, threads_per_worker=1, memory_limit="350MB", dashboard_address=":0"
    ) as client:
        try:
            edition.translate(client)
        except KilledWorker as e:
            print(f"edition stays incomplete: {e}", file=sys.stderr)
            return 1
        finally:
            edition.save(here / "edition.json")
    return 0


if __name__ == "__main__":
    sys.exit(main())
