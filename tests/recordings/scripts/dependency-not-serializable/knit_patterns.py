"""Searches a knitting mill's archive for patterns that resemble a new design.

The archive is indexed part by part into small databases; a search then compares each design with two
neighbouring parts, since patterns that run over the border of a part would be missed otherwise.
"""

import collections
import random
import signal
import sqlite3
import sys

from distributed import Client, LocalCluster, get_worker, wait

STITCHES = "kpyosl"
Match = collections.namedtuple("Match", "design pattern score")


class ArchiveIndex:
    """Pattern rows by their three-stitch words."""

    def __init__(self, part, rows):
        self.part = part
        self.connection = sqlite3.connect(":memory:", check_same_thread=False)
        self.connection.execute("create table words (word text, pattern text)")
        self.connection.executemany(
            "insert into words values (?, ?)", self._words(rows)
        )
        self.connection.execute("create index by_word on words (word)")

    @staticmethod
    def _words(rows):
        for name, stitches in rows:
            for start in range(len(stitches) - 2):
                yield stitches[start : start + 3], name

    def score(self, stitches):
        scores = collections.Counter()
        for start in range(len(stitches) - 2):
            query = "select distinct pattern from words where word = ?"
            for (pattern,) in self.connection.execute(
                query, (stitches[start : start + 3],)
            ):
                scores[pattern] += 1
        return scores


def archive_rows(part, count=300):
    rng = random.Random(part)
    return [
        (f"P{part}-{n:04d}", "".join(rng.choice(STITCHES) for _ in range(24)))
        for n in range(count)
    ]


def build_index(part):
    return ArchiveIndex(part, archive_rows(part))


def search(design, stitches, left, right):
    scores = left.score(stitches) + right.score(stitches)
    return [Match(design, pattern, score) for pattern, score in scores.most_common(3)]


def designs(count):
    rng = random.Random(77)
    return {
        f"design-{n}": "".join(rng.choice(STITCHES) for _ in range(20))
        for n in range(count)
    }


class Deadline:
    """Ends the job in time for the morning shift: the looms must not wait for it."""

    def __init__(self, seconds):
        self.seconds = seconds

    def __enter__(self):
        signal.signal(signal.SIGALRM, self.ring)
        signal.alarm(self.seconds)

    def __exit__(self, *details):
        signal.alarm(0)

    def ring(self, number, frame):
        raise TimeoutError(f"not ready after {self.seconds} s, morning shift begins")


def main():
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="350MB", dashboard_address=None
    )
    client = Client(cluster)
    try:
        addresses = sorted(client.scheduler_info()["workers"])
        indexes = [
            client.submit(
                build_index,
                part,
                key=f"build_index-{part}",
                workers=[addresses[part % 2]],
            )
            for part in range(4)
        ]
        wait(indexes, timeout=20)
        print(f"{len(indexes)} parts of the archive are indexed", flush=True)

        with Deadline(20):
            searches = []
            for number, (design, stitches) in enumerate(designs(8).items()):
                left, right = indexes[number % 4], indexes[(number + 1) % 4]
                searches.append(
                    client.submit(
                        search, design, stitches, left, right, key=f"search-{design}"
                    )
                )
            for matches in client.gather(searches):
                for match in matches:
                    print(match.design, match.pattern, match.score)
    except TimeoutError as error:
        print(f"knit patterns: {error}", file=sys.stderr)
        return 1
    finally:
        client.close(timeout=3)
        cluster.close(timeout=5)
    return 0


if __name__ == "__main__":
    sys.exit(main())
