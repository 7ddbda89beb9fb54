"""Feedback of a music school: word counts over the comment files of all branches, with dask.bag.

Comment files come from the branch offices as text, one comment a line, `teacher|stars|comment`.
"""

import contextlib
import os
import re
import tempfile
import time

import dask.bag as db
from dask.distributed import Client, LocalCluster

BRANCHES = ["aarau", "bern", "chur", "davos", "fluelen", "glarus", "hergiswil", "ilanz"]
STOPWORDS = {"the", "a", "and", "was", "is", "very", "to", "with"}
PHRASES = [
    "very patient teacher and the room was bright",
    "too loud next door, but Mrs Zürcher is wonderful",
    "we would like to switch to Tuesday",
    "the zither was out of tune",
    "große Fortschritte, thanks to Herr Müller",
]


@contextlib.contextmanager
def branch_files():
    """Fetches the comment files of tonight."""
    with tempfile.TemporaryDirectory(prefix="comments_") as folder:
        for number, branch in enumerate(BRANCHES):
            lines = [
                f"t{(i * 7 + number) % 23}|{1 + i % 5}|{PHRASES[i % len(PHRASES)]}"
                for i in range(2000)
            ]
            # the office in Glarus got a new PC this week
            encoding = "cp1252" if branch == "glarus" else "utf-8"
            with open(
                os.path.join(folder, branch + ".txt"), "w", encoding=encoding
            ) as out:
                out.write("\n".join(lines) + "\n")
        yield folder


def parse(line):
    teacher, stars, comment = line.rstrip("\n").split("|", 2)
    return {"teacher": teacher, "stars": int(stars), "comment": comment}


def words(record):
    return [
        w for w in re.findall(r"\w+", record["comment"].lower()) if w not in STOPWORDS
    ]


def count_words(folder):
    records = db.read_text(os.path.join(folder, "*.txt"), encoding="utf-8").map(parse)
    unhappy = records.filter(lambda r: r["stars"] <= 2)
    return unhappy.map(words).flatten().frequencies().topk(15, key=1)


def attempt(client, folder, tries=2):
    """Network shares are moody, so everything is tried twice."""
    for number in range(1, tries + 1):
        try:
            return client.compute(count_words(folder)).result()
        except OSError as problem:
            print(f"try {number}: share not reachable: {problem}")
        except Exception as problem:
            print(f"try {number}: {type(problem).__name__}")
            if number == tries:
                raise RuntimeError(
                    "comment statistics could not be computed, see the operator's handbook 4.2"
                ) from problem
        time.sleep(0.5)


def main():
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        with branch_files() as folder:
            print("files:", sorted(os.listdir(folder)))
            for word, number in attempt(client, folder):
                print(f"{number:6d} {word}")


if __name__ == "__main__":
    main()
