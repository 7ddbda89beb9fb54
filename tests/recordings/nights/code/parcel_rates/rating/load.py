import pandas as pd


def read_depot(path):
    df = pd.read_parquet(path)
    return df[df["grams"] > 0]


META = pd.DataFrame(
    {
        "depot": pd.Series(dtype="object"),
        "grams": pd.Series(dtype="float64"),
        "bulky": pd.Series(dtype="int64"),
    }
)
