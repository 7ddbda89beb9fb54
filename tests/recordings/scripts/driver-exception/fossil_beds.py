"""Ages of the fossil beds. Keys must be the same in each night (the archive is found by key): tokens have to be deterministic."""

import threading

import dask
from dask.distributed import Client


class AgeModel:
    def __init__(self, curve):
        self.curve = curve
        self.calls = 0
        self._lock = threading.Lock()

    def age(self, depth):
        with self._lock:
            self.calls += 1
        return self.curve[0] + self.curve[1] * depth


@dask.delayed(pure=True)
def bed_age(curve, depth):
    return AgeModel(curve).age(depth)


@dask.delayed(pure=True)
def span(model, ages):
    return model.curve[1], max(ages) - min(ages)


def main():
    dask.config.set({"tokenize.ensure-deterministic": True})
    with Client(n_workers=1, threads_per_worker=2, dashboard_address=None):
        model = AgeModel((12.0, 0.8))
        ages = [bed_age(model.curve, depth) for depth in range(6)]
        print("ages:", dask.compute(*ages))
        print("span:", span(model, ages).compute())


if __name__ == "__main__":
    main()
