"""Check the gravel permits against the parcels they name."""

import logging
import tempfile
import time

from distributed import Client, LocalCluster, as_completed

logging.basicConfig(level=logging.INFO)
log = logging.getLogger("permits")
PARCELS = [f"parcel-{n}" for n in range(40)]


def check_permit(permit):
    time.sleep(0.4)
    return permit["id"], PARCELS[permit["parcel"]]


def main():
    permits = [{"id": n, "parcel": n if n != 5 else 55} for n in range(30)]
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
        futures = client.map(check_permit, permits)
        checked = {}
        for future in as_completed(futures):
            if future.status == "error":
                log.info("fresh workers for the rest of the permits")
                client.restart()
                break
            number, parcel = future.result()
            checked[number] = parcel
        rest = client.gather(futures[6:])
        checked.update(rest)
        log.info("checked %d permits", len(checked))


if __name__ == "__main__":
    main()
