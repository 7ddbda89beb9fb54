"""Pilot rota: drafts are computed on a throw-away cluster, checked on a second one."""

import time

from dask.distributed import Client, LocalCluster


def draft_rota(week):
    time.sleep(0.3)
    return [(week, pilot, (pilot * 5 + week) % 7) for pilot in range(6)]


def conflicts(rota):
    seen = {}
    for week, pilot, day in rota:
        seen.setdefault((week, day), []).append(pilot)
    return [k for k, v in seen.items() if len(v) > 1]


def drafts():
    with LocalCluster(
        n_workers=1,
        threads_per_worker=2,
        memory_limit="400MiB",
        dashboard_address=":0",
        name="draft",
    ) as cluster:
        with Client(cluster) as client:
            futures = client.map(draft_rota, range(8))
            done = [f for f in futures if f.result()]
            print(len(done), "drafts")
            return done


def main():
    rotas = drafts()
    with LocalCluster(
        n_workers=1,
        threads_per_worker=2,
        memory_limit="400MiB",
        dashboard_address=":0",
        name="check",
    ) as cluster:
        with Client(cluster) as client:
            sample = client.submit(conflicts, [(1, 1, 1)]).result()
            print("self test", sample)
            found = [client.submit(conflicts, rota.result()) for rota in rotas]
            print(sum(len(c) for c in client.gather(found)), "conflicts")


if __name__ == "__main__":
    main()
