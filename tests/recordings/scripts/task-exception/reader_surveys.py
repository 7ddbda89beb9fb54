"""Profile of the readers' survey: which answers are given how often, branch by branch."""

import argparse
import logging
import random
import tempfile
from pathlib import Path

import dask.dataframe as dd
import pandas as pd
from distributed import Client, LocalCluster

log = logging.getLogger("survey")

BRANCHES = ["central", "harbour", "mill lane", "university"]
GENRES = ["crime", "poetry", "travel", "history", "children"]
VISITS = ["weekly", "monthly", "yearly", "never"]

PROFILE_META = pd.DataFrame(
    {
        "question": pd.Series(dtype="str"),
        "answer": pd.Series(dtype="str"),
        "share": pd.Series(dtype="float64"),
    }
)


def write_surveys(folder, rows):
    rng = random.Random(3)
    for branch in BRANCHES:
        frame = pd.DataFrame(
            {
                "reader": range(rows),
                "branch": branch,
                "genre": [rng.choice(GENRES) for _ in range(rows)],
                "visits": [rng.choice(VISITS) for _ in range(rows)],
                "age": [rng.randrange(8, 95) for _ in range(rows)],
                "loans": [rng.randrange(0, 60) for _ in range(rows)],
            }
        )
        frame.to_csv(folder / f"{branch.replace(' ', '_')}.csv", index=False)


def shares(column):
    counts = column.value_counts(normalize=True)
    return pd.DataFrame(
        {
            "question": column.name,
            "answer": counts.index.astype(str),
            "share": counts.values,
        }
    )


def profile_part(part):
    """One row for every answer of every question with words for answers."""
    questions = [name for name in part.columns if part[name].dtype == object]
    profiles = [shares(part[name]) for name in questions]
    return pd.concat(profiles, ignore_index=True)


def loans_by_age(frame):
    bands = frame["age"] // 10 * 10
    return frame.assign(band=bands).groupby("band")["loans"].mean().compute().round(1)


def answer_profile(frame):
    profile = frame.map_partitions(profile_part, meta=PROFILE_META)
    return profile.groupby(["question", "answer"])["share"].mean().compute()


def report(profile, limit=8):
    for (question, answer), share in (
        profile.sort_values(ascending=False).head(limit).items()
    ):
        log.info("%-8s %-12s %5.1f %%", question, answer, 100 * share)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=3000)
    args = parser.parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )

    with tempfile.TemporaryDirectory(prefix="survey-") as scratch:
        folder = Path(scratch, "answers")
        folder.mkdir()
        write_surveys(folder, args.rows)
        with (
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                dashboard_address=":0",
                local_directory=scratch,
            ) as cluster,
            Client(cluster),
        ):
            frame = dd.read_csv(str(folder / "*.csv"))
            log.info("%d answers from %d branches", len(frame), frame.npartitions)
            for band, loans in loans_by_age(frame).items():
                log.info("age %2d: %.1f loans", band, loans)
            report(answer_profile(frame))


if __name__ == "__main__":
    main()
