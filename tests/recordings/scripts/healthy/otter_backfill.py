"""Backfill of the otter sightings with the old reader; it talks a lot."""

import logging
import sys
import tempfile
import traceback
import warnings

from distributed import Client, LocalCluster, get_worker

logging.basicConfig(level=logging.INFO)


def old_reader(page):
    log = logging.getLogger("distributed.worker")
    warnings.warn(f"page {page} uses the old layout", DeprecationWarning)
    try:
        return {1: "river"}[page]
    except KeyError:
        log.error("Traceback follows for page %d", page, exc_info=True)
        get_worker().log_event("pages", {"page": page, "state": "fallback"})
        return "unknown"


def main():
    with (
        tempfile.TemporaryDirectory() as tmp,
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            dashboard_address=None,
            local_directory=tmp,
        ) as cluster,
        Client(cluster) as client,
    ):
        blob = bytes(12_000_000)
        size = client.submit(len, blob).result()
        places = client.gather(client.map(old_reader, range(4)))
        try:
            client.submit(old_reader, [1]).result()
        except TypeError:
            traceback.print_exc()
            print(
                "FATAL: page list is not supported by the old reader, continuing with single pages",
                file=sys.stderr,
            )
        print(size, places)


if __name__ == "__main__":
    main()
