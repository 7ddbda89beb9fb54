import sys
import tempfile
from pathlib import Path

import pytest

SUITE = """
import dask.dataframe as dd
import pandas as pd
import pytest
from distributed import Client, LocalCluster


@pytest.fixture(scope="module")
def client():
    with LocalCluster(n_workers=1, threads_per_worker=2, memory_limit="500MB",
                      dashboard_address=None) as cluster, Client(cluster) as c:
        yield c


def discount(price, pct):
    if pct > 100:
        raise ValueError(f"discount {pct} above 100 percent")
    return price * (1 - pct / 100)


def test_rejects_silly_discount(client):
    with pytest.raises(ValueError, match="above 100"):
        client.submit(discount, 10, 140).result()


def test_vat_total(client):
    df = pd.DataFrame({"net": [100.0, 40.0, 60.0], "vat": [19, 7, 7]})
    d = dd.from_pandas(df, npartitions=2)
    gross = (d.net * (1 + d.vat / 100)).sum().compute()
    assert round(gross, 2) == 238.0


def test_zero_discount(client):
    assert client.submit(discount, 10, 0).result() == 10
"""


def main():
    folder = Path(tempfile.mkdtemp(prefix="checks"))
    (folder / "test_pricing.py").write_text(SUITE)
    code = pytest.main(["-q", "-p", "no:cacheprovider", str(folder)])
    sys.exit(int(code))


if __name__ == "__main__":
    main()
