"""Sewer gauges: water levels -> discharge, for the storm-overflow report.

The rating curve (level -> discharge) is fitted anew every night from the control
measurements, by a task of its own; the gauges take it from a Variable, so that they
can already smooth their levels while the fit is under way.
"""

import argparse
import logging
import time

import numpy as np
from dask.distributed import Client, LocalCluster, Variable, fire_and_forget

log = logging.getLogger("sewer")

GAUGES = ["GA-101", "GA-102", "GA-117", "GB-003", "GB-019", "GC-044"]
CURVE = "rating-curve"


def control_measurements() -> list[tuple[float, float]]:
    """Level [m] and discharge [m3/s] as the field crew typed them."""
    return [
        (0.42, 0.31),
        (0.42, 0.33),
        (0.42, 0.30),
        (0.42, 0.32),
        (0.42, 0.31),
        (0.42, 0.34),
    ]


def normal_equations(
    level: np.ndarray, flow: np.ndarray, degree: int
) -> tuple[np.ndarray, np.ndarray]:
    cols = np.vander(level / level.max(), degree + 1)
    return cols.T @ cols, cols.T @ flow


def publish_rating_curve(measured: list[tuple[float, float]], degree: int) -> int:
    """Fit the curve and put it where the gauges look for it."""
    level, flow = (np.array(v) for v in zip(*measured))
    lhs, rhs = normal_equations(level, flow, degree)
    coef = np.linalg.solve(lhs, rhs)
    Variable(CURVE).set({"scale": float(level.max()), "coef": coef.tolist()})
    return len(coef)


def smoothed_levels(gauge: str, minutes: int = 1440) -> np.ndarray:
    rng = np.random.default_rng(sum(map(ord, gauge)))
    raw = 0.4 + 0.2 * np.sin(np.linspace(0, 12, minutes)) + rng.normal(0, 0.02, minutes)
    kernel = np.ones(15) / 15
    time.sleep(0.5)
    return np.convolve(raw, kernel, mode="same").clip(0.01)


def gauge_flow(gauge: str, patience: str) -> dict:
    """Discharge of a gauge over the day."""
    levels = smoothed_levels(gauge)
    curve = Variable(CURVE).get(timeout=patience)
    flow = np.polyval(curve["coef"], levels / curve["scale"])
    return {"gauge": gauge, "volume": float(flow.sum() * 60), "peak": float(flow.max())}


def overflow_report(rows: list[dict], limit: float) -> list[str]:
    lines = []
    for r in sorted(rows, key=lambda r: r["gauge"]):
        mark = " OVERFLOW" if r["peak"] > limit else ""
        lines.append(
            f"{r['gauge']}  {r['volume']:9.0f} m3  peak {r['peak']:.2f} m3/s{mark}"
        )
    return lines


def main() -> None:
    ap = argparse.ArgumentParser(description="storm-overflow report")
    ap.add_argument("--degree", type=int, default=2)
    ap.add_argument("--limit", type=float, default=1.2)
    ap.add_argument(
        "--patience", default="15s", help="how long a gauge waits for the curve"
    )
    args = ap.parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )

    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=2,
            memory_limit="400MB",
            dashboard_address=None,
        ) as cluster,
        Client(cluster) as client,
    ):
        measured = control_measurements()
        log.info("%d control measurements, degree %d", len(measured), args.degree)
        fire_and_forget(
            client.submit(publish_rating_curve, measured, args.degree, priority=10)
        )
        flows = client.map(gauge_flow, GAUGES, patience=args.patience)
        log.info("%d gauges submitted", len(flows))
        rows = client.gather(flows)
        print("\n".join(overflow_report(rows, args.limit)))
    log.info("report finished")


if __name__ == "__main__":
    main()
