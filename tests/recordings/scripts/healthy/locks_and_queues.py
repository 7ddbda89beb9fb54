"""Coordinate tasks with a lock, a queue and an event, as they are meant."""

from dask.distributed import Client, Event, Lock, Queue


def produce(n):
    queue = Queue("work")
    for item in range(n):
        queue.put(item)
    Event("produced").set()
    return n


def consume():
    Event("produced").wait(timeout=30)
    queue = Queue("work")
    with Lock("total"):
        return sum(queue.get() for _ in range(10))


if __name__ == "__main__":
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0") as client:
        producer = client.submit(produce, 20)
        consumers = [client.submit(consume, pure=False) for _ in range(2)]
        print(producer.result(), client.gather(consumers))
