"""First steps with dask: sums."""


def total(values: list[float]) -> float:
    return sum(values)


if __name__ == "__main__":
    print(total([1.0, 2.5]))
