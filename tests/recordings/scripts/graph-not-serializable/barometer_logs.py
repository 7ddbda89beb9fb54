"""Smooths the barometer readings of a network of school weather stations and writes one file for the web page.

Raw readings are in a small SQLite file; the result is written next to the final file first and moved into place
at the end, so that the web page never sees half a file.
"""

import json
import logging
import math
import os
import sqlite3
import tempfile
from pathlib import Path

from distributed import Client, LocalCluster

log = logging.getLogger("barometer")

STATIONS = [
    "harbour-school",
    "mill-lane",
    "st-anne",
    "old-brewery",
    "north-hill",
    "riverside",
]


def fill_database(path: Path) -> None:
    with sqlite3.connect(path) as database:
        database.execute(
            "create table reading (station text, minute integer, hpa real)"
        )
        for number, station in enumerate(STATIONS):
            rows = [
                (
                    station,
                    minute,
                    1013
                    + 6 * math.sin(minute / 90 + number)
                    + (minute * 7919 % 13) / 10,
                )
                for minute in range(0, 2880, 10)
            ]
            database.executemany("insert into reading values (?, ?, ?)", rows)
    database.close()


def reachable(station: str) -> bool:
    if station == "old-brewery":
        raise ConnectionError(f"{station} does not answer")
    return True


class PressureBook:
    """The readings, and the way to a smooth curve."""

    def __init__(self, path: Path, window: int):
        self.window = window
        self.database = sqlite3.connect(path, check_same_thread=False)

    def readings(self, station: str) -> list[float]:
        query = "select hpa from reading where station = ? order by minute"
        return [value for (value,) in self.database.execute(query, (station,))]

    def smooth(self, station: str) -> dict:
        values = self.readings(station)
        half = self.window // 2
        curve = []
        for position in range(len(values)):
            part = values[max(0, position - half) : position + half + 1]
            curve.append(round(sum(part) / len(part), 2))
        return {"station": station, "curve": curve}

    def close(self) -> None:
        self.database.close()


def publish(client: Client, book: PressureBook, partial: Path, final: Path) -> None:
    alive = client.map(reachable, STATIONS)
    for station, future in zip(STATIONS, alive):
        try:
            future.result()
        except ConnectionError as problem:
            log.warning("%s, its last readings are used", problem)
    try:
        curves = client.gather(client.map(book.smooth, STATIONS, pure=False))
        partial.write_text(json.dumps(curves))
        log.info("%d curves", len(curves))
    finally:
        book.close()
        os.replace(partial, final)


def main() -> None:
    logging.basicConfig(
        level=logging.INFO, format="%(levelname)s %(name)s: %(message)s"
    )
    folder = Path(tempfile.mkdtemp(prefix="barometer-"))
    fill_database(folder / "readings.sqlite")
    book = PressureBook(folder / "readings.sqlite", window=9)
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="300MB", dashboard_address=None
    ) as cluster:
        with Client(cluster) as client:
            publish(client, book, folder / "curves.json.part", folder / "curves.json")
    print("published")


if __name__ == "__main__":
    main()
