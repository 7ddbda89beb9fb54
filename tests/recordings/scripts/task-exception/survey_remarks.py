"""Language and length of the free remarks in the resident survey; CSV exports from the form tool."""

import csv
import os
import sys
import tempfile
import time

import dask
import dask.dataframe as dd
import numpy as np

DISTRICTS = ["Mitte", "Norden", "Oberfeld", "Seeufer"]
SENTENCES = [
    "The bus comes late.",
    "More trees, please.",
    "Nothing to add.",
    "Der Spielplatz ist zu laut.",
    "Danke!",
]


def export_form(path, seed, essays):
    rng = np.random.default_rng(seed)
    with open(path, "w", newline="") as out:
        writer = csv.writer(out, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
        writer.writerow(["resident", "district", "score", "remark"])
        for i in range(4000):
            remark = " ".join(rng.choice(SENTENCES, rng.integers(1, 4)))
            if essays and i % 50 == 7:
                remark = "\n".join(
                    rng.choice(SENTENCES, 300)
                )  # some residents write letters
            writer.writerow(
                [i, str(rng.choice(DISTRICTS)), int(rng.integers(1, 6)), remark]
            )


def language(frame):
    time.sleep(0.02)
    german = frame["remark"].str.contains("Der |Danke", regex=True)
    return frame.assign(
        language=german.map({True: "de", False: "en"}), length=frame["remark"].str.len()
    )


def analyse(pattern):
    remarks = dd.read_csv(
        pattern,
        blocksize="96KiB",
        dtype={
            "resident": "int64",
            "district": "str",
            "score": "int64",
            "remark": "str",
        },
    )
    meta = remarks._meta.assign(language="en", length=1)
    table = remarks.map_partitions(language, meta=meta)
    return (
        table.groupby(["district", "language"])
        .agg({"score": "mean", "length": "max"})
        .compute()
    )


def main():
    folder = tempfile.mkdtemp(prefix="remarks-")
    with dask.config.set(scheduler="threads", num_workers=2):
        for wave, essays in ((2024, False), (2025, True)):
            wave_folder = os.path.join(folder, str(wave))
            os.mkdir(wave_folder)
            for part in range(3):
                export_form(
                    os.path.join(wave_folder, f"form-{part}.csv"), wave + part, essays
                )
            print("wave", wave, flush=True)
            print(
                analyse(os.path.join(wave_folder, "form-*.csv")).round(2).to_string(),
                flush=True,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
