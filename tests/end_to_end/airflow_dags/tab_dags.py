"""DAGs whose tasks are looked at in the tab "Dask run"."""

from __future__ import annotations

import os
from datetime import timedelta

from airflow.providers.standard.operators.python import PythonOperator
from airflow.sdk import DAG, task
from airflow_dask_blackbox.operators.dask import DaskObservedOperator

TINY = {"n_workers": 1, "threads_per_worker": 2, "processes": False}


def part(which, ti):
    import dask

    def price(row):
        if which == 1 and ti_number == 1:
            raise KeyError("currency")
        return row * 2

    ti_number = ti.try_number
    return sum(dask.compute(*[dask.delayed(price)(row) for row in range(50)]))


def steps(flag, client):
    import time
    from pathlib import Path

    def step(number):
        time.sleep(0.1)
        return number

    futures = client.map(step, range(20_000))
    Path(flag).write_text(str(os.getpid()))
    client.gather(futures)


def waits_for_gpu(flag, client):
    from pathlib import Path

    client.submit(len, [1]).result()
    future = client.submit(len, [1, 2], resources={"GPU": 1})
    Path(flag).write_text(str(os.getpid()))
    future.result()


def nothing():
    return None


with DAG("mapped", schedule=None):
    DaskObservedOperator.partial(
        task_id="part",
        python_callable=part,
        cluster_kwargs=TINY,
        retries=1,
        retry_delay=timedelta(0),
    ).expand(op_kwargs=[{"which": 0}, {"which": 1}])
    PythonOperator(task_id="plain", python_callable=nothing)

with DAG("expanded", schedule=None):

    @task.dask_observed(cluster_kwargs=TINY)
    def revenue(country, client):
        def load(row, of):
            if of == "xx":
                raise ValueError(f"no prices of {of!r}")
            return row

        return sum(client.gather(client.map(load, range(20), of=country)))

    revenue.expand(country=["de", "xx"])

with DAG("plainly", schedule=None):

    @task
    def count(least):
        from dask_blackbox import recording
        from distributed import Client

        def least_of(row):
            if row < least:
                raise ValueError(f"row {row} is below {least}")
            return row

        with (
            Client(processes=False, dashboard_address=":0") as client,
            recording(client),
        ):
            return sum(client.gather(client.map(least_of, range(20))))

    count.expand(least=[0, 1])

with DAG("private_books", schedule=None):
    DaskObservedOperator(
        task_id="part",
        python_callable=part,
        op_kwargs={"which": 0},
        cluster_kwargs=TINY,
        store=os.environ.get("RECORDINGS_OF_TESTS"),
    )

for name, where in (
    (
        "unreadable",
        {
            "store": "s3://far-away",
            "store_settings": {"endpoint": "http://127.0.0.1:1"},
        },
    ),
    ("unrecorded", {"store": "/proc/recordings"}),
):
    with DAG(name, schedule=None):
        DaskObservedOperator(
            task_id="part",
            python_callable=part,
            op_kwargs={"which": 0},
            cluster_kwargs=TINY,
            **where,
        )

with DAG("slow", schedule=None):
    DaskObservedOperator(
        task_id="steps",
        python_callable=steps,
        op_kwargs={"flag": "{{ dag_run.conf['flag'] }}"},
        cluster_kwargs={
            "n_workers": 2,
            "threads_per_worker": 2,
            "memory_limit": "1 GiB",
        },
    )

with DAG("waiting", schedule=None):
    DaskObservedOperator(
        task_id="train",
        python_callable=waits_for_gpu,
        op_kwargs={"flag": "{{ dag_run.conf['flag'] }}"},
        cluster_kwargs=TINY,
    )

with DAG("unprepared", schedule=None):
    DaskObservedOperator(
        task_id="part",
        python_callable=part,
        op_kwargs={"which": "{{ no.such.name }}"},
        cluster_kwargs=TINY,
    )

with DAG("unmappable", schedule=None):

    @task.dask_observed(cluster_kwargs=TINY)
    def count(client):
        return client.submit(len, [1, 2]).result()

    @task
    def each(number):
        return number

    each.expand(number=count())
