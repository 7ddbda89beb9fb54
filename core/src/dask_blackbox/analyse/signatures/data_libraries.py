"""Messages of pandas, dask.dataframe, Arrow and XGBoost about unexpected data."""

from __future__ import annotations

from dask_blackbox.analyse.signatures.signature import Signature

CSV_DTYPES_DIFFER = Signature(
    r"Mismatched dtypes found in `pd\.read_csv`/`pd\.read_table`",
    (
        "Mismatched dtypes found in `pd.read_csv`/`pd.read_table`.\n\n"
        "+--------+-------+----------+\n| Column | Found | Expected |\n"
        "+--------+-------+----------+\n| qty    | str   | int64    |\n"
        "+--------+-------+----------+\n\nUsually this is due to dask's dtype inference "
        "failing, and\n*may* be fixed by specifying dtypes manually by adding:\n\n"
        "dtype={'qty': 'str'}\n\nto the call to `read_csv`/`read_table`."
    ),
    source="dask",
)
META_DIFFERS = Signature(
    r"Metadata mismatch found(?: in `(?P<function>[^`]+)`)?",
    (
        "Metadata mismatch found in `from_delayed`.\n\nPartition type: `pandas.DataFrame`\n"
        "+--------+-------+----------+\n| Column | Found | Expected |\n"
        "+--------+-------+----------+\n| 'qty'  | int64 | -        |\n"
        "+--------+-------+----------+"
    ),
    source="dask",
)
META_COLUMNS_DIFFER = Signature(
    (
        r"The columns in the computed data do not match the columns in the provided "
        r"metadata\.?(?:\s+Extra:\s+\[(?P<extra>[^\]]*)\])?(?:\s+Missing:\s+\[(?P<missing>[^\]]*)\])?"
        r"(?P<order>\s*Order of columns)?"
    ),
    (
        "The columns in the computed data do not match the columns in the provided "
        "metadata.\n  Extra:   ['quantity']\n  Missing: ['qty']"
    ),
    source="dask",
)
META_INFERENCE_FAILED = Signature(
    r"Metadata inference failed in `(?P<what>[^`]+)`",
    (
        "Metadata inference failed in `apply`.\n\nYou have supplied a custom function and "
        "Dask is unable to \ndetermine the type of output that that function returns. \n\n"
    ),
    source="dask",
)
DIVISIONS_UNKNOWN = Signature(
    (
        r"without known divisions|with known divisions|with unknown divisions"
        r"|No known divisions"
    ),
    "No known divisions to enforce!",
    source="dask",
)
PARQUET_COLUMNS_NOT_FOUND = Signature(
    r"The following columns were not found in the dataset (?P<columns>[^\n]+)",
    (
        "The following columns were not found in the dataset {'quantity'}\n"
        "The following columns were found Index(['order', 'qty'], dtype='object')"
    ),
    source="dask",
)
PARTITION_SCHEMA_DIFFERS = Signature(
    (
        r"(?s)Failed to convert partition to expected pyarrow schema"
        r".{0,1000}?Expected partition schema:\n"
        r"(?P<expected>.{0,2000}?)\n\n"
        r"Received partition schema:\n"
        r"(?P<found>.{0,2000}?)\n\n"
    ),
    (
        "Failed to convert partition to expected pyarrow schema:\n    "
        "`ArrowInvalid('x')`\n\nExpected partition schema:\n    qty: int64\n    "
        "city: string\n\nReceived partition schema:\n    qty: string\n    city: string\n\n"
        "This error *may* be resolved by passing in schema information for\nthe mismatched "
        "column(s) using the `schema` keyword in `to_parquet`."
    ),
    source="dask",
)
USECOLS_NOT_FOUND = Signature(
    (
        r"Usecols do not match columns, columns expected but not found: "
        r"\[(?P<columns>[^\]]*)\]"
    ),
    "Usecols do not match columns, columns expected but not found: ['quantity']",
    source="pandas",
)
COLUMNS_NOT_IN_INDEX = Signature(
    (
        r"(?:None of \[Index\()?\[(?P<columns>[^\]]*)\](?:, dtype='\w+'\)\])? "
        r"(?:are |is )?(?:not in index|in the \[(?:columns|index)\]|not found in axis)"
    ),
    "\"['quantity'] not in index\"",
    source="pandas",
)
COLUMN_IS_MISSING = Signature(
    r"\A'(?:Column not found: )?(?P<columns>[^'\"\n]+)'$", "'quantity'", source="pandas"
)
NO_SUCH_ATTRIBUTE_OF_FRAME = Signature(
    r"'DataFrame' object has no attribute '(?P<columns>\w+)'",
    "'DataFrame' object has no attribute 'quantity'",
    source="pandas",
)
MERGE_KEYS_DIFFER = Signature(
    (
        r"You are trying to merge on (?P<found>[\w\[\], ]+?) and (?P<expected>[\w\[\], ]+?) "
        r"columns(?: for key '(?P<column>[^']+)')?"
    ),
    (
        "You are trying to merge on int64 and str columns for key 'order'. If you wish to "
        "proceed you should use pd.concat"
    ),
    source="pandas",
)
CSV_FIELDS_DIFFER = Signature(
    (
        r"Error tokenizing data\. C error: Expected (?P<expected>\d+) fields in line "
        r"(?P<line>\d+), saw (?P<found>\d+)"
    ),
    "Error tokenizing data. C error: Expected 3 fields in line 3, saw 4\n",
    source="pandas",
)
CSV_IS_EMPTY = Signature(
    r"No columns to parse from file", "No columns to parse from file", source="pandas"
)
NO_SUCH_FOLDER = Signature(
    r"Cannot save file into a non-existent directory: '(?P<file>[^']+)'",
    "Cannot save file into a non-existent directory: '/data/out'",
    source="pandas",
)
NOT_A_PARQUET_FILE = Signature(
    (
        r"(?:Could not open Parquet input source '(?P<file>[^']*)': )?"
        r"(?:Parquet magic bytes not found in footer|Parquet file size is (?P<size>\d+) bytes)"
    ),
    (
        "Could not open Parquet input source '/data/bad.parquet': Parquet magic bytes not "
        "found in footer. Either the file is corrupted or this is not a parquet file."
    ),
    source="pyarrow",
)
ARROW_FIELD_TYPES_DIFFER = Signature(
    (
        r"Unable to merge: Field (?P<column>.+?) has incompatible types: "
        r"(?P<expected>.+?) vs (?P<found>[^\n]+)"
    ),
    "Unable to merge: Field qty has incompatible types: int64 vs string",
    source="pyarrow",
)
ARROW_FIELD_NAMES_DIFFER = Signature(
    (
        r"Target schema's field names are not matching the \w+'s field names: "
        r"\[(?P<found>[^\]]*)\], \[(?P<expected>[^\]]*)\]"
    ),
    (
        "Target schema's field names are not matching the table's field names: "
        "['order', 'qty', 'city'], ['order', 'qty']"
    ),
    source="pyarrow",
)
ARROW_TABLE_SCHEMA_DIFFERS = Signature(
    (
        r"(?s)Table schema does not match schema used to create file:\s*"
        r"table:\n(?P<found>.{0,4000}?) vs\.\s*\nfile:\n(?P<expected>.*)"
    ),
    (
        "Table schema does not match schema used to create file: \ntable:\nqty: string vs. "
        "\nfile:\nqty: int64"
    ),
    source="pyarrow",
)
ARROW_SCHEMAS_DIFFER = Signature(
    r"(?s)Schema at index (?P<number>\d+) was different: \n(?P<expected>.{0,4000}?)\nvs\n(?P<found>.*)",
    "Schema at index 1 was different: \nqty: int64\nvs\nqty: string",
    source="pyarrow",
)
ARROW_VALUE_NOT_CONVERTED = Signature(
    (
        r"(?s)(?:tried to convert to (?P<expected>[\w\[\], ]{1,60}?)|Expected (?P<wanted>\w+), got an? "
        r"'?(?P<got>\w+)'? object)\W.{0,200}?Conversion failed for column (?P<column>.{1,200}?) with "
        r"type (?P<found>\w+)"
    ),
    (
        "(\"Could not convert 'three' with type str: tried to convert to int64\", "
        "'Conversion failed for column qty with type object')"
    ),
    source="pyarrow",
)
ARROW_TYPE_OF_MADE_UP_OBJECT = Signature(
    (
        r"Could not convert <object object[^\n]{0,60} with type object: did not recognize "
        r"Python value type"
    ),
    (
        "Could not convert <object object at 0x7f94489acbb0> with type object: did not "
        "recognize Python value type when inferring an Arrow data type"
    ),
    source="pyarrow",
)
ARROW_TYPE_NOT_KNOWN = Signature(
    (
        r"(?s)with type (?P<found>[\w.]+): did not recognize Python value type"
        r".{0,200}?Conversion failed for column (?P<column>.{1,200}?) with type"
    ),
    (
        '("Could not convert <re.Match object> with type re.Match: did not recognize Python '
        'value type when inferring an Arrow data type", '
        "'Conversion failed for column thing with type object')"
    ),
    source="pyarrow",
)
ARROW_FIELD_NOT_FOUND = Signature(
    (
        r"No match for FieldRef\.Name\((?P<columns>[^)]+)\)"
        r"|Field \"(?P<field>[^\"]+)\" does not exist in (?:schema|table schema)"
    ),
    "No match for FieldRef.Name(quantity) in order: int64\nqty: int64",
    source="pyarrow",
)
XGBOOST_CHECK_FAILED = Signature(
    (
        r"(?:^|\s)(?:\[\d\d:\d\d:\d\d\] )?\S+\.(?:cc|cu|h|cpp):\d+: Check failed: "
        r"(?P<check>.*?): (?P<why>[^\n]+)"
    ),
    (
        "[12:01:02] /workspace/src/data/data.cc:507: Check failed: valid: Label contains "
        "NaN, infinity or a value too large.\nStack trace:\n  [bt] (0) libxgboost.so(+0x2)"
    ),
    source="xgboost",
)
XGBOOST_INVALID_COLUMNS = Signature(
    (
        r"DataFrame\.dtypes for data must be int, float, bool or category[\s\S]{0,1000}?"
        r"Invalid columns:\s*(?P<column>[^:,\s]+): (?P<found>\w+)"
    ),
    (
        "DataFrame.dtypes for data must be int, float, bool or category. When categorical "
        "type is supplied, the experimental DMatrix parameter`enable_categorical` must be "
        "set to `True`.  Invalid columns:city: object"
    ),
    source="xgboost",
)
XGBOOST_FEATURES_MISSING = Signature(
    (
        r"feature_names mismatch: [\s\S]{0,2000}?"
        r"(?:expected (?P<columns>[^\n]+?) in input data"
        r"|training data did not have the following fields: (?P<extra>[^\n]+))"
    ),
    "feature_names mismatch: ['order', 'qty'] ['order']\nexpected qty in input data",
    source="xgboost",
)
