"""Keep a ledger in an actor."""

from dask.distributed import Client


class Ledger:
    def __init__(self):
        self.balance = 100

    def withdraw(self, amount):
        if amount > self.balance:
            raise ValueError(f"cannot withdraw {amount}, balance is {self.balance}")
        self.balance -= amount
        return self.balance


if __name__ == "__main__":
    with Client(n_workers=1, threads_per_worker=2, dashboard_address=":0") as client:
        ledger = client.submit(Ledger, actor=True).result()
        for amount in (20, 30, 40, 50):
            print(ledger.withdraw(amount).result())
