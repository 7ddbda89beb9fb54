"""Review tenders; print a progress line whenever a result takes longer than a second."""

import asyncio
import time

from dask.distributed import Client, LocalCluster, TimeoutError, wait


def review(tender):
    time.sleep(2.5 if tender % 3 == 0 else 0.2)
    return tender, "accept" if tender % 2 else "reject"


def patient_result(future):
    waited = 0
    while True:
        try:
            return future.result(timeout=1)
        except TimeoutError as exc:
            waited += 1
            print(f"still waiting for {future.key} after {waited} s ({exc!r})")
            if waited > 15:
                raise


def main():
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        futures = [client.submit(review, t, key=f"tender-{t}") for t in range(7)]
        print(dict(patient_result(f) for f in futures))


if __name__ == "__main__":
    main()
