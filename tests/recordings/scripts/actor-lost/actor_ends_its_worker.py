"""An actor that holds a session; its close() ends the process."""

import os
import time

from dask.distributed import Client


class Session:
    def __init__(self):
        self.rows = []

    def add(self, row):
        self.rows.append(row)
        if len(self.rows) == 3:
            os._exit(11)
        return len(self.rows)


if __name__ == "__main__":
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0") as client:
        session = client.submit(Session, actor=True).result()
        for row in range(6):
            print(session.add(row).result())
            time.sleep(0.2)
