"""Features of voucher clicks for the redemption model.

Clicks are encoded with one indicator per campaign, the vocabulary being taken
from the clicks themselves, and multiplied with the model's weights.
"""

import hashlib
import logging
import sys

import dask
import numpy as np
import pandas as pd
from dask import delayed
from dask.distributed import Client

LOG = logging.getLogger("clicks")
CAMPAIGNS = [f"autumn-{i:02d}" for i in range(40)]
CHANNELS = ["app", "mail", "partner", "web"]
ROWS = 120_000


@delayed(pure=True)
def read_channel(channel):
    """Yesterday's clicks of one channel."""
    rng = np.random.default_rng(len(channel) * 13)
    n = ROWS
    campaign = rng.choice(CAMPAIGNS, n)
    if channel == "partner":
        # the partner's new tag puts the visitor's token behind the campaign
        campaign = [
            f"{name}:{hashlib.md5(str(i).encode()).hexdigest()[:12]}"
            for i, name in enumerate(campaign)
        ]
    return pd.DataFrame(
        {
            "campaign": campaign,
            "device": rng.choice(["phone", "tablet", "desk"], n),
            "seconds": rng.exponential(30, n),
        }
    )


@delayed(pure=True)
def vocabulary(clicks):
    names = set()
    for part in clicks:
        names.update(part["campaign"].unique())
    return {name: position for position, name in enumerate(sorted(names))}


@delayed(pure=True)
def indicators(part, positions):
    """One row a click, one column a campaign."""
    matrix = np.zeros((len(part), len(positions)))
    columns = part["campaign"].map(positions).to_numpy()
    matrix[np.arange(len(part)), columns] = 1.0
    return matrix


@delayed(pure=True)
def score(matrix, part, positions):
    rng = np.random.default_rng(0)
    weights = rng.normal(size=len(positions))
    return 1 / (1 + np.exp(-(matrix @ weights + 0.01 * part["seconds"].to_numpy())))


@delayed(pure=True)
def summary(channel, scores):
    return {
        "channel": channel,
        "mean": float(scores.mean()),
        "above": int((scores > 0.5).sum()),
    }


def build():
    parts = [read_channel(channel) for channel in CHANNELS]
    positions = vocabulary(parts)
    lines = []
    for channel, part in zip(CHANNELS, parts):
        matrix = indicators(part, positions)
        lines.append(summary(channel, score(matrix, part, positions)))
    return lines


def main():
    logging.basicConfig(level=logging.INFO)
    client = Client(
        n_workers=2, threads_per_worker=1, memory_limit="500MB", dashboard_address=":0"
    )
    try:
        lines = dask.persist(*build())
        table = pd.DataFrame(list(dask.compute(*lines)))
        table.to_csv("scores.csv", index=False)
        LOG.info("scored %d channels", len(table))
    except Exception as exc:
        LOG.exception("features of the night failed")
        raise SystemExit(5) from exc
    finally:
        client.shutdown()


if __name__ == "__main__":
    main()
