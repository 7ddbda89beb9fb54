"""Key figures of the stalls."""
import pandas as pd


def margins(lines):
    lines = lines[lines["qty"] > 0]
    revenue = lines["qty"] * lines["unit_price"]
    cost = lines["qty"] * lines["unit_cost"]
    hours = lines["sold_at"].dt.hour
    return pd.DataFrame({"hour": hours, "revenue": revenue, "margin": revenue - cost}).groupby("hour").sum()


def combine(tables):
    """Sum over all stalls, by hour."""
    everything = pd.concat(tables)
    return everything.groupby(level=0).sum().sort_index()
