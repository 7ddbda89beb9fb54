"""concurrent.futures with a Dask cluster."""

from dask.distributed import Client


def primes_below(limit):
    sieve = bytearray([1]) * limit
    for n in range(2, int(limit**0.5) + 1):
        if sieve[n]:
            sieve[n * n :: n] = bytes(len(sieve[n * n :: n]))
    return sum(sieve) - 2


def main():
    client = Client(n_workers=2, threads_per_worker=1, dashboard_address=":0")
    with client.get_executor() as executor:
        print(
            list(executor.map(primes_below, [200_000 + 10_000 * n for n in range(12)]))
        )
    client.close()


if __name__ == "__main__":
    main()
