import json
import logging

from distributed import Client, LocalCluster, wait

log = logging.getLogger(__name__)


def parse_feed(text):
    return json.loads(text)["items"]


def flatten(lists):
    return [x for part in lists for x in part]


def main():
    logging.basicConfig(level=logging.INFO)
    feeds = {
        "acme": '{"items": [1, 2]}',
        "bolt": '{"items": [3',
        "corp": '{"item": []}',
        "dune": '{"items": [4]}',
    }
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="300MB",
            dashboard_address=None,
        ) as cluster,
        Client(cluster) as client,
    ):
        futs = {k: client.submit(parse_feed, v) for k, v in feeds.items()}
        wait(list(futs.values()))
        for k, f in futs.items():
            if f.status == "error":
                log.error("partner %s is left out tonight", k, exc_info=f.exception())
        good = client.gather(list(futs.values()), errors="skip")
        print("items", flatten(good))
        assert len(good) >= 2


if __name__ == "__main__":
    main()
