"""The steps of the ETL."""


def clean(row):
    return {key.lower(): value for key, value in row.items()}


def enrich(row):
    return {**row, "region": "EU" if row["country"] in {"DE", "FR"} else "other"}
