"""Two rosters of the choir are built side by side on one cluster."""

import threading
import time

from dask.distributed import Client, LocalCluster

VOICES = ["soprano", "alto", "tenor", "bass"]


def audition(singer):
    time.sleep(0.15)
    ranges = {"soprano": 24, "alto": 21, "tenor": 22}
    voice = VOICES[singer % 4]
    return singer, ranges[voice]


def attendance(evening):
    time.sleep(0.6)
    return evening, 40 + evening % 9


class Roster(threading.Thread):
    def __init__(self, cluster, name, work, items, priority=0):
        super().__init__(name=name)
        self.cluster, self.work, self.items = cluster, work, items
        self.priority = priority
        self.error = None

    def run(self):
        client = Client(self.cluster, set_as_default=False)
        try:
            rows = client.gather(
                client.map(self.work, self.items, priority=self.priority)
            )
            print(self.name, len(rows))
        except BaseException as e:
            self.error = e
        finally:
            client.close()
            self.cluster.close()


def main():
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0")
    seasons = Roster(cluster, "season", attendance, range(60))
    voices = Roster(cluster, "voices", audition, range(24), priority=5)
    seasons.start()
    time.sleep(1.5)
    voices.start()
    voices.join()
    seasons.join()
    if seasons.error is not None:
        raise seasons.error
    print("rosters are ready")


if __name__ == "__main__":
    main()
