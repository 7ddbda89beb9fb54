"""National runoff balance: route every catchment, then add them up for the morning bulletin."""

from __future__ import annotations

import argparse
import logging
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import dask
import numpy as np
from dask.distributed import Client, LocalCluster, as_completed

log = logging.getLogger("runoff")


@dataclass(frozen=True)
class Catchment:
    name: str
    area_km2: float
    days: int
    step_minutes: int


CATCHMENTS = [
    Catchment("alder", 420.0, 365, 60),
    Catchment("brook", 180.5, 365, 60),
    Catchment("carse", 911.0, 365, 60),
    Catchment("delta", 2650.0, 365, 1),
    Catchment("esker", 77.2, 365, 60),
    Catchment("firth", 340.9, 365, 60),
]


def rainfall(seed: int, steps: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.gamma(0.3, 2.0, size=steps)


def unit_hydrographs(catchment: Catchment, reservoirs: int = 60):
    """Response of each linear reservoir over the whole period, one after the other."""
    steps = catchment.days * 24 * 60 // catchment.step_minutes
    rain = rainfall(len(catchment.name) * 7 + int(catchment.area_km2), steps)
    for k in range(1, reservoirs + 1):
        kernel = np.exp(-np.arange(48) / (k + 1.0))
        yield (
            np.convolve(rain, kernel / kernel.sum())[:steps]
            * catchment.area_km2
            / reservoirs
        )
        time.sleep(0.06)  # licence server of the routing library throttles us


def route_catchment(catchment: Catchment, folder: str) -> str:
    """Route one catchment and write its daily runoff; return the file's name."""
    responses = [response for response in unit_hydrographs(catchment)]
    runoff = np.sum(responses, axis=0)
    per_day = 24 * 60 // catchment.step_minutes
    daily = (
        runoff[: catchment.days * per_day].reshape(catchment.days, per_day).sum(axis=1)
    )
    target = Path(folder) / f"{catchment.name}.npy"
    np.save(target, daily)
    return target.name


def route_all(client: Client, folder: Path) -> int:
    futures = {
        client.submit(
            route_catchment, c, str(folder), key=f"route_catchment-{c.name}"
        ): c.name
        for c in CATCHMENTS
    }
    written = 0
    for future in as_completed(futures):
        try:
            log.info("wrote %s", future.result())
            written += 1
        except Exception as error:  # one catchment less must not stop the others
            log.warning("catchment %s: %s", futures[future], type(error).__name__)
    return written


def national_balance(folder: Path) -> np.ndarray:
    total = np.zeros(CATCHMENTS[0].days)
    for catchment in CATCHMENTS:
        total += np.load(folder / f"{catchment.name}.npy")
    return total


def bulletin(total: np.ndarray) -> str:
    return f"runoff: mean {total.mean():.1f}, peak {total.max():.1f} on day {int(total.argmax())}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memory", default="280MB", help="per worker")
    parser.add_argument("--workers", type=int, default=2)
    args = parser.parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)-7s %(name)s: %(message)s"
    )

    with tempfile.TemporaryDirectory(prefix="runoff-") as tmp:
        out = Path(tmp) / "daily"
        out.mkdir()
        dask.config.set(
            {"temporary-directory": tmp, "distributed.scheduler.allowed-failures": 1}
        )
        cluster = LocalCluster(
            n_workers=args.workers,
            threads_per_worker=1,
            memory_limit=args.memory,
            dashboard_address=":0",
        )
        client = Client(cluster)
        try:
            written = route_all(client, out)
            log.info("step 1 done, %d files", written)
            total = national_balance(out)
            log.info(bulletin(total))
        finally:
            client.close()
            cluster.close()


if __name__ == "__main__":
    main()
