import time

from dask.distributed import Client, LocalCluster, Queue


def tag_articles(shard):
    inbox = Queue("articles")
    article = inbox.get()
    return shard, len(article)


def crawl(source):
    inbox = Queue("articles")
    for k in range(2):
        time.sleep(0.2)
        inbox.put(f"{source} story {k}")
    return source


def main():
    with LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None
    ) as cluster:
        with Client(cluster) as client:
            Queue("articles", client=client)
            taggers = client.map(tag_articles, range(4), priority=10)
            time.sleep(1)
            crawlers = client.map(crawl, ["wire", "press"])
            started = time.time()
            while not all(f.done() for f in taggers + crawlers):
                time.sleep(0.5)
                if time.time() - started > 10:
                    raise SystemExit(
                        f"pipeline gave up after {time.time() - started:.0f}s"
                    )
            print(client.gather(taggers))


if __name__ == "__main__":
    main()
