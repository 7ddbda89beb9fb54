import dask


@dask.delayed
def row(k):
    return k, k * k


def main():
    table = dask.compute(*[row(k) for k in range(5)], scheduler="threads")
    print(dict(table))


if __name__ == "__main__":
    main()
