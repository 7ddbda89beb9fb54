"""Yearly attenuation review of the submarine cables.

The monitoring system drops one Parquet file per cable segment.  The review reads all segments as one dataframe, takes
the attenuation per repeater and month, and lists repeaters whose loss grew by more than a limit.
"""

import sys
import tempfile
import warnings
from pathlib import Path

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from distributed import Client, LocalCluster

SEGMENTS = 18
META = pd.DataFrame(
    {
        "repeater": pd.Series(dtype="int64"),
        "month": pd.Series(dtype="int64"),
        "loss_db": pd.Series(dtype="float64"),
    }
)


def deliver(folder):
    """What the monitoring system and the nightly copy leave in the drop folder."""
    rng = np.random.default_rng(7)
    for segment in range(SEGMENTS):
        if segment == 4:
            continue  # cable laid up for repair, never delivered
        rows = 6000
        table = pa.table(
            {
                "repeater": segment * 10 + rng.integers(0, 10, rows),
                "month": rng.integers(1, 13, rows),
                "loss_db": rng.normal(42.0, 0.4, rows).round(2),
            }
        )
        pq.write_table(
            table, folder / f"segment-{segment:02d}.parquet", compression="snappy"
        )
    # the copy of one file was resumed at the wrong place
    target = folder / "segment-11.parquet"
    data = bytearray(target.read_bytes())
    middle = len(data) // 2
    data[64:middle] = bytes(reversed(data[64:middle]))
    target.write_bytes(bytes(data))


class SegmentUnreadable(Exception):
    pass


def load_segment(path):
    """One segment as a frame; a cable under repair has none."""
    path = Path(path)
    try:
        frame = pq.ParquetFile(path).read().to_pandas()
    except FileNotFoundError:
        warnings.warn(f"{path.name} was not delivered", stacklevel=1)
        return META.copy()
    except (OSError, pa.ArrowException) as error:
        raise SegmentUnreadable(f"{path.name}: {error}") from error
    return frame[["repeater", "month", "loss_db"]]


def growing(monthly, limit):
    """Repeaters whose mean loss of the last quarter exceeds that of the first."""
    table = monthly.reset_index().pivot(
        index="repeater", columns="month", values="loss_db"
    )
    growth = table[[10, 11, 12]].mean(axis=1) - table[[1, 2, 3]].mean(axis=1)
    return growth[growth > limit].sort_values(ascending=False)


def review(folder, limit):
    paths = [
        str(folder / f"segment-{segment:02d}.parquet") for segment in range(SEGMENTS)
    ]
    losses = dd.from_map(load_segment, paths, meta=META)
    losses = losses[losses.loss_db > 0]
    monthly = losses.groupby(["repeater", "month"]).loss_db.mean()
    return growing(monthly.compute(), limit)


def main(argv):
    limit = float(argv[1]) if len(argv) > 1 else 0.05
    with tempfile.TemporaryDirectory(prefix="cables-") as name:
        folder = Path(name)
        deliver(folder)
        cluster = LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="500MB",
            dashboard_address=":0",
        )
        client = Client(cluster)
        try:
            worst = review(folder, limit)
        except Exception as error:
            print(f"review stopped: {type(error).__name__}", file=sys.stderr)
            raise SystemExit(3) from error
        finally:
            client.close()
            cluster.close()
    print(worst.to_string())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
