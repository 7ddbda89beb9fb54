import logging
import sys

import dask.bag as db
from dask.distributed import Client

log = logging.getLogger("quality")


def inspect(part):
    width = 20.0 + ((part * 7919) % 101) / 1000
    return {"part": part, "ok": width < 20.09}


def main():
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )
    with Client(
        processes=False, n_workers=1, threads_per_worker=2, dashboard_address=None
    ):
        results = db.range(4000, npartitions=8).map(inspect).compute()
    bad = sum(not r["ok"] for r in results)
    share = bad / len(results)
    log.info("inspected %d parts, %d rejected", len(results), bad)
    if share > 0.05:
        log.error("reject share %.1f%% above contract limit 5%%", 100 * share)
        sys.exit(4)
    log.info("lot released")


if __name__ == "__main__":
    main()
