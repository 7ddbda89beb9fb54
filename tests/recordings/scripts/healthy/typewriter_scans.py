"""Word lists of typewritten letters, from the recognised text of the scans.

The scanning firm sends compressed JSON lines, a file per box.  Boxes that do
not open are reported back to the firm; the rest goes into the index.
"""

import collections
import gzip
import json
import logging
import os
import random
import sys

import dask.bag as db
from dask.distributed import Client

log = logging.getLogger("letters")

WORDS = "dear sir yours faithfully ribbon carriage return tab margin letter reply enclosed post office".split()


def send_boxes(folder, boxes=16):
    """What the firm sent."""
    rng = random.Random(1953)
    os.makedirs(folder, exist_ok=True)
    for box in range(boxes):
        lines = []
        for letter in range(300):
            text = " ".join(rng.choices(WORDS, k=40))
            lines.append(json.dumps({"box": box, "letter": letter, "text": text}))
        data = gzip.compress("\n".join(lines).encode())
        if box == 5:
            data = data[: len(data) // 2]
        if box == 11:
            data = b"<html><body>504 Gateway Time-out</body></html>"
        if box == 14:
            lines[17] = lines[17][:-20]
            data = gzip.compress("\n".join(lines).encode())
        with open(os.path.join(folder, f"box_{box:02d}.jsonl.gz"), "wb") as out:
            out.write(data)


def open_box(path):
    """Letters of a box, or the reason why there are none."""
    letters = []
    try:
        with gzip.open(path, "rt") as lines:
            for line in lines:
                letters.append(json.loads(line))
    except (OSError, EOFError, ValueError) as exc:
        logging.getLogger("letters").warning(
            "%s left out: %s: %s", os.path.basename(path), type(exc).__name__, exc
        )
        return {"path": path, "letters": [], "problem": f"{type(exc).__name__}: {exc}"}
    return {"path": path, "letters": letters, "problem": None}


def words(letter):
    return letter["text"].split()


def index(folder):
    paths = sorted(os.path.join(folder, name) for name in os.listdir(folder))
    boxes = db.from_sequence(paths, npartitions=8).map(open_box).persist()
    problems = (
        boxes.filter(lambda box: box["problem"])
        .map(lambda box: (box["path"], box["problem"]))
        .compute()
    )
    counts = (
        boxes.pluck("letters")
        .flatten()
        .map(words)
        .flatten()
        .frequencies(split_every=4)
        .compute()
    )
    return collections.Counter(dict(counts)), problems


def main():
    logging.basicConfig(level=logging.INFO)
    send_boxes("boxes")
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0"):
        counts, problems = index(os.path.abspath("boxes"))
    with open("for_the_firm.txt", "w") as out:
        for path, problem in problems:
            log.warning("box %s goes back to the firm", os.path.basename(path))
            out.write(f"{os.path.basename(path)}\t{problem}\n")
    for word, times in counts.most_common(5):
        print(f"{word:12} {times}")
    if len(problems) > 5:
        sys.exit("too many boxes left out")


if __name__ == "__main__":
    main()
