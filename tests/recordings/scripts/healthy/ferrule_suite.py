"""Nightly checks of the ferrule pipeline, run with pytest."""

import asyncio
import sys
import time

import pytest
from dask.distributed import Client, LocalCluster


def diameter(ferrule):
    time.sleep(0.1)
    if ferrule < 0:
        raise KeyError(f"ferrule {ferrule} is not in the drawer")
    return 2.5 + ferrule % 3


def crimp(size):
    time.sleep(0.1)
    return 10 / (size - 2.5)


@pytest.fixture(scope="module")
def cluster():
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="400MB", dashboard_address=":0"
    ) as cluster:
        yield cluster


def test_sizes(cluster):
    with Client(cluster) as client:
        assert client.gather(client.map(diameter, range(6))) == [2.5, 3.5, 4.5] * 2


def test_unknown_ferrule(cluster):
    with Client(cluster) as client:
        with pytest.raises(KeyError, match="drawer"):
            client.submit(diameter, -3).result()


@pytest.mark.xfail(
    reason="smallest size cannot be crimped yet", raises=ZeroDivisionError, strict=True
)
def test_smallest_crimp(cluster):
    with Client(cluster) as client:
        assert client.submit(crimp, 2.5).result() > 0


def test_from_async_code(cluster):
    async def sizes():
        async with Client(cluster.scheduler_address, asynchronous=True) as client:
            futures = client.map(diameter, [4, 5])
            with pytest.raises((asyncio.TimeoutError, TimeoutError)):
                await asyncio.wait_for(client.submit(time.sleep, 3).result(), 0.5)
            return await client.gather(futures)

    assert asyncio.run(sizes()) == [3.5, 4.5]


def test_skipped_sizes(cluster):
    pytest.skip("gauge is at the laboratory")


if __name__ == "__main__":
    sys.exit(pytest.main([__file__, "-q", "-p", "no:cacheprovider"]))
