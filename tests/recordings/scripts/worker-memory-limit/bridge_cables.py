"""Weekly condition report of a cable-stayed bridge.

The table of cables (length, force, natural frequency) is laid out on one worker once, then two steps use it: a
picture for the web page, which is nice to have, and the fatigue index for the road authority, which must be there.
"""

import logging
import os

os.environ.setdefault("DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES", "0")

import numpy as np
import pandas as pd
from distributed import Client, LocalCluster

log = logging.getLogger("bridge")

SAMPLES_PER_HOUR = 720_000


def cable_table(count: int) -> pd.DataFrame:
    rng = np.random.default_rng(44)
    return pd.DataFrame(
        {
            "cable": [f"S{n:03d}" for n in range(count)],
            "length_m": rng.uniform(60, 230, count),
            "force_kn": rng.uniform(2500, 6800, count),
            "hertz": rng.uniform(0.4, 1.9, count),
        }
    )


def web_spectrogram(cables: pd.DataFrame, hours: int) -> np.ndarray:
    """Power over time and frequency, averaged over all cables; every hour is kept until the picture is drawn."""
    rows = []
    clock = np.arange(SAMPLES_PER_HOUR) / 200.0
    for hour in range(hours):
        cable = cables.iloc[hour % len(cables)]
        signal = np.sin(2 * np.pi * cable.hertz * clock) + 0.1 * np.cos(clock * hour)
        rows.append(np.abs(np.fft.fft(signal)).reshape(600, -1))
        rows.append(signal.reshape(600, -1))
    return np.stack(rows[::2]).mean(axis=2)


def fatigue_index(cables: pd.DataFrame, span: str) -> pd.Series:
    part = cables.iloc[::2] if span == "north" else cables.iloc[1::2]
    cycles = part.hertz * 3600 * 24 * 7
    return pd.Series(
        ((part.force_kn / 7200) ** 5 * cycles / 2e6).to_numpy(),
        index=part.cable,
        name=span,
    )


class WeeklyReport:
    def __init__(self, client: Client):
        self.client = client
        self.cables = None

    def lay_out(self) -> None:
        first = sorted(self.client.scheduler_info()["workers"])[0]
        self.cables = self.client.scatter(cable_table(112), workers=[first])

    def picture(self, hours: int) -> None:
        future = self.client.submit(web_spectrogram, self.cables, hours)
        try:
            pixels = future.result()
        except Exception as problem:
            log.warning("no picture this week (%s)", type(problem).__name__)
            return
        log.info("picture of %s pixels", pixels.shape)

    def fatigue(self) -> pd.Series:
        spans = [
            self.client.submit(fatigue_index, self.cables, span)
            for span in ("north", "south")
        ]
        return pd.concat(self.client.gather(spans))


def main() -> None:
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s"
    )
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="350MB",
            dashboard_address=None,
        ) as cluster,
        Client(cluster) as client,
    ):
        report = WeeklyReport(client)
        report.lay_out()
        report.picture(hours=24 * 7)
        client.wait_for_workers(2, timeout=20)
        index = report.fatigue()
        index.to_csv("fatigue.csv")
        print(index.nlargest(5))


if __name__ == "__main__":
    main()
