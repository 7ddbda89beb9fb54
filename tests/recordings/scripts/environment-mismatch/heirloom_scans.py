"""Read the labels of a museum's heirloom-seed collection from its scans.

The scans sit in an archive behind a token.  ``Archive`` objects go to the workers without their session; each worker
signs in again with its own.
"""

import argparse
import hashlib
import logging
import os
import pathlib
import sys

from distributed import Client, LocalCluster

log = logging.getLogger("scans")


def load_settings(path):
    """KEY=VALUE lines into the environment, as the other jobs of the museum do it."""
    for line in path.read_text().splitlines():
        line = line.strip()
        if line and not line.startswith("#"):
            key, _, value = line.partition("=")
            os.environ.setdefault(key.strip(), value.strip())


class Session:
    def __init__(self, url, token):
        if len(token) != 32:
            raise PermissionError(f"{url}: malformed token")
        self.url, self.token = url, token

    def get(self, name):
        return hashlib.sha256(f"{self.url}/{name}".encode()).digest() * 200


class Archive:
    def __init__(self, collection, url):
        self.collection = collection
        self.url = url
        self.session = self._sign_in()

    def _sign_in(self):
        return Session(self.url, os.environ["SCAN_ARCHIVE_TOKEN"])

    def __getstate__(self):
        return {"collection": self.collection, "url": self.url}

    def __setstate__(self, state):
        self.__dict__.update(state)
        self.session = self._sign_in()

    def names(self, n):
        return [f"{self.collection}/{i:05d}.tif" for i in range(n)]

    def fetch(self, name):
        return self.session.get(name)


def sharpness(size):
    return size, 1.0 - 1.0 / size


def read_label(name, archive):
    pixels = archive.fetch(name)
    letters = "".join(chr(97 + b % 26) for b in pixels[:8])
    return name, letters


def main(argv):
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--collection", default="beans-1908")
    ap.add_argument("-n", type=int, default=40)
    args = ap.parse_args(argv)
    logging.basicConfig(level=logging.INFO)

    settings = pathlib.Path("museum.env")
    settings.write_text(
        "# issued by the archive, valid until spring\nSCAN_ARCHIVE_TOKEN = "
        + hashlib.md5(b"museum").hexdigest()
        + "\n"
    )

    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="400MB", dashboard_address=None
    )
    client = Client(cluster)
    written = 0
    try:
        calibration = dict(client.gather(client.map(sharpness, [300, 600, 1200])))
        log.info("calibration %s", calibration)
        load_settings(settings)
        archive = Archive(args.collection, "https://archive.museum.example")
        log.info(
            "signed in, first scan has %d bytes",
            len(archive.fetch(archive.names(1)[0])),
        )
        labels = client.map(
            read_label, archive.names(args.n), archive=archive, retries=1
        )
        with open("labels.tsv", "w") as out:
            for name, label in client.gather(labels):
                out.write(f"{name}\t{label}\n")
                written += 1
    finally:
        client.close()
        cluster.close()
        log.info("%d labels written", written)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
