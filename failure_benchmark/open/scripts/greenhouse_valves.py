"""A controller actor asks a valve actor for its state."""

from dask.distributed import Client


class Valve:
    def __init__(self) -> None:
        self.position = 0.4

    def read(self) -> float:
        return self.position


class Controller:
    def plan(self, valve) -> float:
        return valve.read().result() * 2


if __name__ == "__main__":
    with Client(n_workers=1, threads_per_worker=1) as client:
        valve = client.submit(Valve, actor=True).result()
        controller = client.submit(Controller, actor=True).result()
        print(controller.plan(valve).result())
