"""An API that sometimes refuses; retries are meant to handle it."""

import os
import tempfile

from dask.distributed import Client

SEEN = tempfile.mkdtemp()


def fetch(page, seen):
    marker = os.path.join(seen, str(page))
    if page % 5 == 0 and not os.path.exists(marker):
        open(marker, "w").close()
        raise ConnectionError(f"page {page}: try again")
    return page * 10


if __name__ == "__main__":
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0") as client:
        pages = client.map(fetch, range(20), seen=SEEN, retries=3)
        print(sum(client.gather(pages)))
