"""The lesson book is an actor. When its worker goes, the book is built again from the journal."""

import os
import tempfile
import time
from pathlib import Path

from dask.distributed import Client


class LessonBook:
    def __init__(self, journal):
        self.journal = journal
        self.lessons = (
            Path(journal).read_text().split() if Path(journal).exists() else []
        )

    def add(self, lesson):
        self.lessons.append(lesson)
        with open(self.journal, "a") as out:
            out.write(lesson + "\n")
        return len(self.lessons)


def leave(dask_worker):
    os._exit(3)


def main():
    with tempfile.TemporaryDirectory() as folder:
        journal = str(Path(folder) / "journal")
        with Client(
            n_workers=1, threads_per_worker=2, dashboard_address=None
        ) as client:
            book = client.submit(LessonBook, journal, actor=True, pure=False).result()
            for lesson in ("scales", "bowing"):
                book.add(lesson).result()
            try:
                client.run(leave)
            except Exception as error:
                print("drill: the worker left:", type(error).__name__)
            deadline = time.monotonic() + 30
            try:
                print(book.add("vibrato").result(timeout=10))
            except Exception as error:
                print("book is gone:", type(error).__name__, error)
            while (
                time.monotonic() < deadline and not client.scheduler_info()["workers"]
            ):
                time.sleep(0.2)
            client.wait_for_workers(1, timeout=30)
            book = client.submit(LessonBook, journal, actor=True, pure=False).result(
                timeout=30
            )
            print("lessons:", book.add("etude").result(timeout=10))


if __name__ == "__main__":
    main()
