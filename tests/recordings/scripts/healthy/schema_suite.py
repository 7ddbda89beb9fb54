import sys
import tempfile
from pathlib import Path

import pytest

TESTS = """
import pandas as pd
import pytest
import dask.dataframe as dd
from distributed import Client

@pytest.fixture(scope="module")
def client():
    with Client(processes=False, n_workers=1, threads_per_worker=2, dashboard_address=None) as c:
        yield c

def check(df):
    if "iban" not in df.columns:
        raise KeyError("iban")
    return df

def test_missing_iban(client):
    d = dd.from_pandas(pd.DataFrame({"a": [1, 2]}), npartitions=2)
    with pytest.raises(KeyError, match="iban"):
        d.map_partitions(check, meta=d._meta).compute()

def test_worker_error(client):
    f = client.submit(lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        f.result()

@pytest.mark.xfail(reason="known: negative lengths", strict=True)
def test_negative(client):
    assert client.submit(max, [-1, -2]).result() == 0

def test_ok(client):
    assert sum(client.gather(client.map(len, ["a", "bb"]))) == 3
"""

if __name__ == "__main__":
    d = Path(tempfile.mkdtemp())
    (d / "test_schema.py").write_text(TESTS)
    sys.exit(int(pytest.main(["-v", "-rA", "-p", "no:cacheprovider", str(d)])))
