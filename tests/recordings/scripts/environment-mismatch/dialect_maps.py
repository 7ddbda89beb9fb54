"""Dialect maps: groups recorded words into sound classes, for the atlas of the northern villages.

The classifier reads its sound table from the project folder; recordings are scored on workers that the
institute's launcher starts in scratch folders.
"""

import os
import pathlib
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import TimeoutError as FutureTimeout

from dask.distributed import Client, as_completed

TABLE = "tables/sounds.tsv"


class SoundClassifier:
    """Assigns a class to a word. Its table is big in real life, so copies read it anew and do not carry it along."""

    def __init__(self, path):
        self.path = path
        self.table = self._read()

    def _read(self):
        with open(self.path, encoding="utf-8") as lines:
            return dict(line.rstrip("\n").split("\t") for line in lines)

    def __getstate__(self):
        return {"path": self.path}

    def __setstate__(self, state):
        self.path = state["path"]
        self.table = self._read()

    def classify(self, word):
        return "".join(self.table.get(letter, "-") for letter in word.lower())


def write_table():
    os.makedirs(os.path.dirname(TABLE), exist_ok=True)
    vowels = set("aeiou")
    with open(TABLE, "w", encoding="utf-8") as out:
        for letter in "abcdefghijklmnopqrstuvwxyz":
            out.write(f"{letter}\t{'V' if letter in vowels else 'C'}\n")


def village_words(village):
    return ["becksteid", "lathe", "garth", "yam", f"{village}by", "laik", "neb"] * 20


def classes_of(classifier, words):
    return Counter(classifier.classify(word) for word in words)


class Launcher:
    def __init__(self, scratch):
        self.scratch = scratch
        self.ticket = scratch / "ticket.json"
        self.processes = []

    def launch(self, cwd, *words):
        cwd.mkdir(exist_ok=True)
        self.processes.append(
            subprocess.Popen([sys.executable, "-m", "dask", *words], cwd=cwd)
        )

    def __enter__(self):
        self.launch(
            pathlib.Path.cwd(),
            "scheduler",
            "--host",
            "127.0.0.1",
            "--port",
            "0",
            "--no-dashboard",
            "--scheduler-file",
            str(self.ticket),
        )
        for number in range(2):
            self.launch(
                self.scratch / f"node{number}",
                "worker",
                "--scheduler-file",
                str(self.ticket),
                "--nthreads",
                "1",
                "--memory-limit",
                "300MB",
                "--no-dashboard",
                "--name",
                f"node{number}",
            )
        return self

    def __exit__(self, *exc):
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            process.wait(10)


def main():
    write_table()
    classifier = SoundClassifier(TABLE)
    villages = ["thorn", "kirk", "ask", "sel", "whit", "ulls"]
    with (
        tempfile.TemporaryDirectory() as name,
        Launcher(pathlib.Path(name)) as launcher,
    ):
        with Client(scheduler_file=str(launcher.ticket), timeout=20) as client:
            client.wait_for_workers(2, timeout=20)
            words = client.map(village_words, villages)
            jobs = {
                client.submit(classes_of, classifier, found): village
                for village, found in zip(villages, words)
            }
            atlas = Counter()
            try:
                for job in as_completed(jobs, timeout=30):
                    atlas += job.result()
                    print(jobs[job], "mapped")
            except FutureTimeout:
                sys.exit("atlas not finished in time")
            print(atlas.most_common(5))


if __name__ == "__main__":
    main()
