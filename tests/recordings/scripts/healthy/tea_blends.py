"""Tasting notes for tea blends, one small cluster for each tasting room.

Each note is fetched from a (slow) shelf, so each room works with many threads.
Rooms are opened one after another.
"""

import json
import time
from collections import Counter
from contextlib import contextmanager

from distributed import Client, LocalCluster

ROOMS = {"assam": 24, "keemun": 32, "sencha": 24, "oolong": 40}
WORDS = ["malt", "smoke", "grass", "peach", "cocoa", "iris", "honey"]


@contextmanager
def tasting_room(name, threads):
    cluster = LocalCluster(
        n_workers=1,
        threads_per_worker=threads,
        memory_limit="400MB",
        dashboard_address=None,
        name=name,
    )
    client = Client(cluster)
    try:
        yield client
    finally:
        client.close()
        cluster.close()


def fetch_note(blend, cup):
    time.sleep(0.5)
    return WORDS[(len(blend) * cup + cup // 3) % len(WORDS)]


def count_words(words):
    return dict(Counter(words))


def main():
    book = {}
    for blend, threads in ROOMS.items():
        with tasting_room(blend, threads) as client:
            notes = client.map(fetch_note, [blend] * 100, range(100))
            book[blend] = client.submit(count_words, notes).result()
    with open("tasting_book.json", "w") as f:
        json.dump(book, f, indent=1)
    best = {blend: max(words, key=words.get) for blend, words in book.items()}
    assert all(sum(w.values()) == 100 for w in book.values())
    print("written:", ", ".join(f"{k} ({v})" for k, v in best.items()))


if __name__ == "__main__":
    main()
