"""Crawl articles, hand them over a queue, and index them."""

import time

from dask.distributed import Client, LocalCluster, Queue


def crawl(feed):
    articles = Queue("articles")
    for i in range(30):
        articles.put({"feed": feed, "title": f"{feed} item {i}", "words": 200 + i})
    return 30


def index(expected):
    articles = Queue("articles")
    words = 0
    for _ in range(expected):
        words += articles.get()["words"]
    return words


def main():
    feeds = ["politics", "sports"]
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        Queue("articles", maxsize=20, client=client)
        crawled = client.map(crawl, feeds)
        time.sleep(0.5)
        indexed = client.submit(index, 30 * len(feeds))
        start = time.monotonic()
        while not indexed.done():
            if time.monotonic() - start > 12:
                raise TimeoutError("index not ready before the newsletter slot")
            time.sleep(0.2)
        print("articles", sum(client.gather(crawled)), "words", indexed.result())


if __name__ == "__main__":
    main()
