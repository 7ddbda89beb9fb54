"""Price contracts; each layer wraps the exception of the one below."""

import dask
from dask.distributed import Client

RATES = {"EUR": 1.0, "USD": 1.08, "GBP": 0.85}


class MarketDataError(Exception):
    pass


class PricingError(Exception):
    pass


def rate_of(currency):
    try:
        return RATES[currency]
    except KeyError as exc:
        raise MarketDataError(f"no rate for {currency}") from exc


@dask.delayed
def price_contract(n, currency):
    try:
        return n * rate_of(currency)
    except MarketDataError as exc:
        raise PricingError(f"contract {n} cannot be priced") from exc


if __name__ == "__main__":
    with Client(n_workers=1, threads_per_worker=2, dashboard_address=":0"):
        wanted = ["EUR", "USD", "GBP", "EUR", "CHF", "USD"]
        prices = [price_contract(n, each) for n, each in enumerate(wanted)]
        print(dask.delayed(sum)(prices).compute())
