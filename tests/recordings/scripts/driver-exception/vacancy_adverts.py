"""Vacancy adverts: loads the day's job adverts from the boards, cleans them, and checks the table before it is
handed to the search index. Nothing goes to the index unless all the checks hold."""

import logging
import pathlib
import string

import click
import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster

log = logging.getLogger("adverts")
BOARDS = ["baltic", "civic", "harbour", "metro", "north", "rural"]


def board_file(folder, board, rows):
    rng = np.random.default_rng(len(board) * 31 + ord(board[0]))
    letters = np.array(list(string.ascii_uppercase))
    # harbour and metro belong to one publisher since November
    prefix = "HM" if board in ("harbour", "metro") else board[:2].upper()
    frame = pd.DataFrame(
        {
            "advert_id": [f"{prefix}{number:06d}" for number in range(rows)],
            "board": board,
            "title": ["".join(row) for row in letters[rng.integers(0, 26, (rows, 8))]],
            "salary": rng.normal(3400, 500, rows).round(),
        }
    )
    frame.to_parquet(folder / f"{board}.parquet", index=False)


def clean(frame):
    return frame.assign(
        title=frame["title"].str.title(), salary=frame["salary"].clip(lower=1200)
    )


@dask.delayed
def fetch_logo(board):
    if board == "rural":
        raise FileNotFoundError(f"logos/{board}.svg")
    return f"logos/{board}.svg"


def logos():
    out = {}
    for board in BOARDS:
        try:
            out[board] = fetch_logo(board).compute()
        except FileNotFoundError as error:
            log.warning("no logo: %s", error)
            out[board] = "logos/none.svg"
    return out


class Checks:
    def __init__(self, table):
        self.rows, self.ids, self.lowest, self.boards = dask.compute(
            table.shape[0],
            table["advert_id"].nunique(),
            table["salary"].min(),
            table["board"].nunique(),
        )

    def run(self):
        for name in ("enough_rows", "all_boards", "sane_salary", "unique_adverts"):
            getattr(self, name)()
            log.info("check %s: ok", name)

    def enough_rows(self):
        assert self.rows > 1000, f"only {self.rows} adverts"

    def all_boards(self):
        assert self.boards == len(BOARDS), f"{self.boards} boards of {len(BOARDS)}"

    def sane_salary(self):
        assert self.lowest >= 1200, f"salary of {self.lowest}"

    def unique_adverts(self):
        assert self.ids == self.rows, (
            f"{self.rows - self.ids} adverts share their advert_id with another one"
        )


@click.command()
@click.option(
    "--folder", type=click.Path(path_type=pathlib.Path), default=pathlib.Path("boards")
)
@click.option("--rows", default=900, show_default=True)
@click.option("--workers", default=2)
def cli(folder, rows, workers):
    logging.basicConfig(level=logging.INFO, format="%(name)s %(levelname)s %(message)s")
    folder.mkdir(exist_ok=True)
    for board in BOARDS:
        board_file(folder, board, rows)
    with (
        LocalCluster(
            n_workers=workers, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster),
    ):
        log.info("logos: %s", logos())
        table = dd.read_parquet(str(folder)).map_partitions(clean).persist()
        Checks(table).run()
        table.to_parquet("index-input")


if __name__ == "__main__":
    cli()
