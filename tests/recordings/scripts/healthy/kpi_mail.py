import sys
import time

from distributed import Client, LocalCluster, wait


def kpi(dept):
    time.sleep(1 + (dept == "legal") * 10)
    return dept, len(dept) * 3.5


def render(rows, late):
    body = "\n".join(f"{d:10s}{v:8.1f}" for d, v in rows)
    return body + "".join(f"\n{d:10s}    n/a (late)" for d in late)


def main():
    depts = ["sales", "hr", "legal", "it", "ops"]
    with (
        LocalCluster(
            n_workers=3,
            threads_per_worker=1,
            memory_limit="300MB",
            dashboard_address=None,
        ) as cluster,
        Client(cluster) as client,
    ):
        futs = dict(zip(depts, client.map(kpi, depts)))
        try:
            wait(list(futs.values()), timeout=6)
        except TimeoutError:
            print("WARNING timeout, sending what is there", file=sys.stderr)
        rows = [f.result() for f in futs.values() if f.done()]
        print(render(rows, [d for d, f in futs.items() if not f.done()]))


if __name__ == "__main__":
    main()
