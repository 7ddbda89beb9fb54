import asyncio
import os
import sqlite3
import sys
import tempfile

from dask.distributed import Client


def count_stock(warehouse):
    db = sqlite3.connect(os.environ["STOCK_DB"])
    try:
        row = db.execute(
            "select sum(qty) from stock where warehouse = ?", (warehouse,)
        ).fetchone()
        return warehouse, row[0]
    finally:
        db.close()


def fill(path):
    db = sqlite3.connect(path)
    db.execute("create table stock (warehouse text, sku integer, qty integer)")
    db.executemany(
        "insert into stock values (?, ?, ?)",
        [(w, sku, sku % 13) for w in ("Lyon", "Metz", "Brest") for sku in range(400)],
    )
    db.commit()
    db.close()


async def launch(*args, env):
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "dask", *args, env=env
    )


async def run(folder):
    os.environ["STOCK_DB"] = os.path.join(folder, "stock.sqlite")
    fill(os.environ["STOCK_DB"])
    sfile = os.path.join(folder, "sched.json")
    keep = (
        "PATH",
        "HOME",
        "LANG",
        "PYTHONPATH",
        "PYTHONSTARTUP",
        "VIRTUAL_ENV",
        "TMPDIR",
    )
    service_env = {
        k: v for k, v in os.environ.items() if k in keep or k.startswith("DASK_")
    }
    scheduler = await launch(
        "scheduler",
        "--port",
        "0",
        "--no-dashboard",
        "--scheduler-file",
        sfile,
        env=dict(os.environ),
    )
    worker = await launch(
        "worker",
        "--nthreads",
        "2",
        "--no-dashboard",
        "--scheduler-file",
        sfile,
        env=service_env,
    )
    try:
        async with Client(
            scheduler_file=sfile, asynchronous=True, timeout=20
        ) as client:
            await client.wait_for_workers(1, timeout=20)
            futures = client.map(count_stock, ["Lyon", "Metz", "Brest"])
            for warehouse, qty in await client.gather(futures):
                print(warehouse, qty)
    finally:
        for proc in (worker, scheduler):
            proc.terminate()
            await proc.wait()


def main():
    with tempfile.TemporaryDirectory(prefix="stock-") as folder:
        asyncio.run(run(folder))


if __name__ == "__main__":
    main()
