"""Consumers take work from a queue that the producer has under another name."""

from dask.distributed import Client, Queue


def produce(n):
    queue = Queue("orders-in")
    for item in range(n):
        queue.put(item)
    return n


def consume(name):
    queue = Queue("orders_in")
    return sum(queue.get() for _ in range(5))


def main():
    client = Client(n_workers=3, threads_per_worker=1, dashboard_address=":0")
    producer = client.submit(produce, 10)
    consumers = client.map(consume, ["first", "second"])
    print(producer.result(), "produced")
    print("waiting for the consumers", flush=True)
    print(client.gather(consumers), "consumed")


if __name__ == "__main__":
    main()
