import sys
import time

from distributed import Client, Event, LocalCluster, wait

FEEDS = {"north": {"rows": 300}, "south": {"row_count": 280}, "east": {"rows": 120}}


def publish_stock(region, feed):
    ready = Event(f"stock-{region}")
    time.sleep(0.3)
    rows = feed["rows"]
    ready.set()
    return region, rows


def reconcile(region):
    Event(f"stock-{region}").wait()
    return f"{region} reconciled"


def main():
    with (
        LocalCluster(
            n_workers=3,
            threads_per_worker=2,
            memory_limit="300MB",
            dashboard_address=None,
        ) as cluster,
        Client(cluster) as client,
    ):
        recon = [client.submit(reconcile, r) for r in FEEDS]
        pubs = [client.submit(publish_stock, r, f) for r, f in FEEDS.items()]
        try:
            wait(recon, timeout=15)
        except TimeoutError:
            late = [r for r, f in zip(FEEDS, recon) if not f.done()]
            print("reconciliation timed out for", late, file=sys.stderr)
            print("publishers", [p.status for p in pubs], file=sys.stderr)
            client.cancel(recon)
            raise SystemExit(2)
        print(client.gather(recon))


if __name__ == "__main__":
    main()
