import pandas as pd


def read_stall(path):
    """One till export. The till software writes one row per receipt line."""
    return pd.read_csv(path, parse_dates=["sold_at"])
