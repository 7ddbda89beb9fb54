"""Thumbnails of scanned contracts: an external converter runs in each task."""

import os
import subprocess
import sys
import tempfile

from dask.distributed import Client, LocalCluster

CONVERTER = r"""
import os, signal, sys, time
pages = int(sys.argv[1])
limit = 120
if pages > limit:
    sys.stderr.write('converter: page limit exceeded, terminating session\n')
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(1)
print('ok %d' % pages)
"""


def page_count(document):
    return {"c-104.pdf": 412}.get(document, 3 + len(document) % 5)


def convert(document, pages):
    done = subprocess.run(
        [sys.executable, "-c", CONVERTER, str(pages)],
        capture_output=True,
        text=True,
        check=True,
    )
    return document, done.stdout.strip()


def write_index(rows):
    with tempfile.NamedTemporaryFile("w", suffix=".idx", delete=True) as out:
        out.write("\n".join(f"{d};{s}" for d, s in rows))
        return len(rows)


def main():
    documents = [f"c-{n}.pdf" for n in range(100, 112)]
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        pages = client.map(page_count, documents)
        rows = client.map(convert, documents, pages)
        written = client.submit(write_index, rows).result()
        print("thumbnails", written)


if __name__ == "__main__":
    main()
