"""Transfers between wards: length of stay per patient and ward, joined with the ward's capacity."""

import argparse
import time

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd

CAPACITY = {"ICU": 12, "Surgery": 40, "Geriatrics": 36, "Neonatal": 18}


def admissions(month, n=4000):
    rng = np.random.default_rng(month)
    frame = pd.DataFrame(
        {
            "patient": rng.integers(1, 900, n),
            "ward": rng.choice(
                list(CAPACITY),
                n,
                p=[0.2, 0.4, 0.4, 0.0] if month < 9 else [0.2, 0.4, 0.3, 0.1],
            ),
            "hours": rng.gamma(2.0, 20.0, n).round(1),
        }
    )
    return frame.sort_values("patient", ignore_index=True)


def stays(frame):
    """One row per patient, a column of hours for each ward the patient was in."""
    time.sleep(0.3)
    table = frame.pivot_table(
        index="patient", columns="ward", values="hours", aggfunc="sum", fill_value=0.0
    )
    table.columns = [f"h_{ward.lower()}" for ward in table.columns]
    return table.reset_index()


def build(months):
    raw = dd.from_map(admissions, months, meta=admissions(1, 5).iloc[:0])
    meta = stays(admissions(1, 400)).iloc[:0]
    return raw.map_partitions(stays, meta=meta)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--months", type=int, nargs="+", default=[5, 6, 7, 8, 9])
    parser.add_argument("--scheduler", default="processes")
    args = parser.parse_args()

    dask.config.set(scheduler=args.scheduler, num_workers=2)
    table = build(args.months)
    hours = [c for c in table.columns if c.startswith("h_")]
    print("columns:", ", ".join(hours), flush=True)
    print(table[hours].mean().compute().round(2).to_string())


if __name__ == "__main__":
    main()
