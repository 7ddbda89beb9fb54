"""Vole surveys: the small helper of the field group goes to the workers, then the counts are summed up."""

import tempfile
from pathlib import Path

import dask
from dask.distributed import Client

HELPER = '''
"""Weekly figures of the field group."""

def weekly(counts):
    return [sum(counts[i:i + 7]) for i in range(0, len(counts), 7)]
'''


def middle(plot):
    import random
    from statistics import median

    rng = random.Random(plot)
    return median(rng.randint(0, 30) for _ in range(28))


def weeks(plot):
    from statistics import weekly

    return weekly([(plot * k) % 9 for k in range(28)])


def main():
    with tempfile.TemporaryDirectory() as folder:
        helper = Path(folder) / "statistics.py"
        helper.write_text(HELPER)
        with Client(
            n_workers=1, threads_per_worker=2, dashboard_address=None
        ) as client:
            client.upload_file(str(helper))
            print(dask.compute([dask.delayed(weeks)(p) for p in range(4)]))
            print(dask.compute([dask.delayed(middle)(p) for p in range(4)]))


if __name__ == "__main__":
    main()
