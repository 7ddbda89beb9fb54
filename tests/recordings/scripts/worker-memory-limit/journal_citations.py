"""Links the citations of newly arrived journal issues.

Issues are parsed in parallel; for each we want the number of references that
resolve to an article which we hold.
"""

import logging
import sys
import textwrap
from pathlib import Path

import dask
from dask.distributed import Client, LocalCluster, as_completed

log = logging.getLogger("citations")

PARSER = '''
"""Parser of the journal issues (shared with the web front end)."""
import time

import numpy as np

_PAGES = {}


def pages_of(issue):
    """Page images, looked up once per issue: the web pages ask for them repeatedly."""
    if issue not in _PAGES:
        rng = np.random.default_rng(abs(hash(issue)) % 2**32)
        _PAGES[issue] = rng.integers(0, 255, 28_000_000, dtype="u1")
    return _PAGES[issue]


def text_layer(pages):
    layer = pages.astype("f4")
    time.sleep(0.5)
    return layer > 250


def parse_issue(issue):
    pages = pages_of(issue)
    marks = text_layer(pages)
    return issue, int(marks[:2_000_000].sum())
'''


def install_parser():
    Path("issue_parser.py").write_text(textwrap.dedent(PARSER))
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)


def issues():
    journals = {"J-CHEM": 9, "J-GEOL": 8, "J-HIST": 7}
    for journal, count in journals.items():
        for number in range(1, count + 1):
            yield f"{journal}/2026/{number:02d}"


def link(client, names):
    from issue_parser import parse_issue

    futures = client.map(
        parse_issue, names, key=[f"parse_issue-{name}" for name in names]
    )
    counts = {}
    for future in as_completed(futures):
        name, marks = future.result()
        counts[name] = marks
        if len(counts) % 4 == 0:
            log.info("%d issues parsed", len(counts))
    return counts


def main():
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    install_parser()
    dask.config.set({"distributed.scheduler.allowed-failures": 0})
    names = list(issues())
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="420MB", dashboard_address=None
    ) as cluster:
        with Client(cluster) as client:
            counts = link(client, names)
    Path("citations.txt").write_text(
        "\n".join(f"{n}\t{c}" for n, c in sorted(counts.items()))
    )
    log.info("%d issues linked", len(counts))


if __name__ == "__main__":
    main()
