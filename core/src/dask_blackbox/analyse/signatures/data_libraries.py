"""What pandas, dask.dataframe, Arrow and XGBoost say of data that is not as expected."""

from __future__ import annotations

from dask_blackbox.analyse.signatures.signature import Signature

CSV_DTYPES_DIFFER = Signature(
    name="CSV_DTYPES_DIFFER",
    source="dask",
    pattern=r"Mismatched dtypes found in `pd\.read_csv`/`pd\.read_table`",
    example=(
        "Mismatched dtypes found in `pd.read_csv`/`pd.read_table`.\n\n"
        "+--------+-------+----------+\n| Column | Found | Expected |\n"
        "+--------+-------+----------+\n| qty    | str   | int64    |\n"
        "+--------+-------+----------+\n\nUsually this is due to dask's dtype inference "
        "failing, and\n*may* be fixed by specifying dtypes manually by adding:\n\n"
        "dtype={'qty': 'str'}\n\nto the call to `read_csv`/`read_table`."
    ),
)
META_DIFFERS = Signature(
    name="META_DIFFERS",
    source="dask",
    pattern=r"Metadata mismatch found(?: in `(?P<function>[^`]+)`)?",
    example=(
        "Metadata mismatch found in `from_delayed`.\n\nPartition type: `pandas.DataFrame`\n"
        "+--------+-------+----------+\n| Column | Found | Expected |\n"
        "+--------+-------+----------+\n| 'qty'  | int64 | -        |\n"
        "+--------+-------+----------+"
    ),
)
META_COLUMNS_DIFFER = Signature(
    name="META_COLUMNS_DIFFER",
    source="dask",
    pattern=(
        r"The columns in the computed data do not match the columns in the provided "
        r"metadata\.?(?:\s+Extra:\s+\[(?P<extra>[^\]]*)\])?(?:\s+Missing:\s+\[(?P<missing>[^\]]*)\])?"
        r"(?P<order>\s*Order of columns)?"
    ),
    example=(
        "The columns in the computed data do not match the columns in the provided "
        "metadata.\n  Extra:   ['quantity']\n  Missing: ['qty']"
    ),
)
META_INFERENCE_FAILED = Signature(
    name="META_INFERENCE_FAILED",
    source="dask",
    pattern=r"Metadata inference failed in `(?P<what>[^`]+)`",
    example=(
        "Metadata inference failed in `apply`.\n\nYou have supplied a custom function and "
        "Dask is unable to \ndetermine the type of output that that function returns. \n\n"
    ),
)
DIVISIONS_UNKNOWN = Signature(
    name="DIVISIONS_UNKNOWN",
    source="dask",
    pattern=(
        r"without known divisions|with known divisions|with unknown divisions"
        r"|No known divisions"
    ),
    example="No known divisions to enforce!",
)
PARQUET_COLUMNS_NOT_FOUND = Signature(
    name="PARQUET_COLUMNS_NOT_FOUND",
    source="dask",
    pattern=r"The following columns were not found in the dataset (?P<columns>[^\n]+)",
    example=(
        "The following columns were not found in the dataset {'quantity'}\n"
        "The following columns were found Index(['order', 'qty'], dtype='object')"
    ),
)
PARTITION_SCHEMA_DIFFERS = Signature(
    name="PARTITION_SCHEMA_DIFFERS",
    source="dask",
    pattern=(
        r"(?s)Failed to convert partition to expected pyarrow schema.*?"
        r"Expected partition schema:\n(?P<expected>.*?)\n\n.*?"
        r"Received partition schema:\n(?P<found>.*?)\n\n"
    ),
    example=(
        "Failed to convert partition to expected pyarrow schema:\n    "
        "`ArrowInvalid('x')`\n\nExpected partition schema:\n    qty: int64\n    "
        "city: string\n\nReceived partition schema:\n    qty: string\n    city: string\n\n"
        "This error *may* be resolved by passing in schema information for\nthe mismatched "
        "column(s) using the `schema` keyword in `to_parquet`."
    ),
)
USECOLS_NOT_FOUND = Signature(
    name="USECOLS_NOT_FOUND",
    source="pandas",
    pattern=(
        r"Usecols do not match columns, columns expected but not found: "
        r"\[(?P<columns>[^\]]*)\]"
    ),
    example=(
        "Usecols do not match columns, columns expected but not found: ['quantity']"
    ),
)
COLUMNS_NOT_IN_INDEX = Signature(
    name="COLUMNS_NOT_IN_INDEX",
    source="pandas",
    pattern=(
        r"(?:None of \[Index\()?\[(?P<columns>[^\]]*)\](?:, dtype='\w+'\)\])? "
        r"(?:are |is )?(?:not in index|in the \[(?:columns|index)\]|not found in axis)"
    ),
    example="\"['quantity'] not in index\"",
)
COLUMN_IS_MISSING = Signature(
    name="COLUMN_IS_MISSING",
    source="pandas",
    pattern=r"\A'(?P<columns>[^'\"\n]+)'$",
    example="'quantity'",
)
NO_SUCH_ATTRIBUTE_OF_FRAME = Signature(
    name="NO_SUCH_ATTRIBUTE_OF_FRAME",
    source="pandas",
    pattern=r"'DataFrame' object has no attribute '(?P<columns>\w+)'",
    example="'DataFrame' object has no attribute 'quantity'",
)
MERGE_KEYS_DIFFER = Signature(
    name="MERGE_KEYS_DIFFER",
    source="pandas",
    pattern=(
        r"You are trying to merge on (?P<found>[\w\[\], ]+?) and (?P<expected>[\w\[\], ]+?) "
        r"columns(?: for key '(?P<column>[^']+)')?"
    ),
    example=(
        "You are trying to merge on int64 and str columns for key 'order'. If you wish to "
        "proceed you should use pd.concat"
    ),
)
CSV_FIELDS_DIFFER = Signature(
    name="CSV_FIELDS_DIFFER",
    source="pandas",
    pattern=(
        r"Error tokenizing data\. C error: Expected (?P<expected>\d+) fields in line "
        r"(?P<line>\d+), saw (?P<found>\d+)"
    ),
    example="Error tokenizing data. C error: Expected 3 fields in line 3, saw 4\n",
)
CSV_IS_EMPTY = Signature(
    name="CSV_IS_EMPTY",
    source="pandas",
    pattern=r"No columns to parse from file",
    example="No columns to parse from file",
)
NO_SUCH_FOLDER = Signature(
    name="NO_SUCH_FOLDER",
    source="pandas",
    pattern=r"Cannot save file into a non-existent directory: '(?P<file>[^']+)'",
    example="Cannot save file into a non-existent directory: '/data/out'",
)
NOT_A_PARQUET_FILE = Signature(
    name="NOT_A_PARQUET_FILE",
    source="pyarrow",
    pattern=(
        r"(?:Could not open Parquet input source '(?P<file>[^']*)': )?"
        r"(?:Parquet magic bytes not found in footer|Parquet file size is (?P<size>\d+) bytes)"
    ),
    example=(
        "Could not open Parquet input source '/data/bad.parquet': Parquet magic bytes not "
        "found in footer. Either the file is corrupted or this is not a parquet file."
    ),
)
ARROW_FIELD_TYPES_DIFFER = Signature(
    name="ARROW_FIELD_TYPES_DIFFER",
    source="pyarrow",
    pattern=(
        r"Unable to merge: Field (?P<column>.+?) has incompatible types: "
        r"(?P<expected>.+?) vs (?P<found>[^\n]+)"
    ),
    example="Unable to merge: Field qty has incompatible types: int64 vs string",
)
ARROW_FIELD_NAMES_DIFFER = Signature(
    name="ARROW_FIELD_NAMES_DIFFER",
    source="pyarrow",
    pattern=(
        r"Target schema's field names are not matching the \w+'s field names: "
        r"\[(?P<found>[^\]]*)\], \[(?P<expected>[^\]]*)\]"
    ),
    example=(
        "Target schema's field names are not matching the table's field names: "
        "['order', 'qty', 'city'], ['order', 'qty']"
    ),
)
ARROW_TABLE_SCHEMA_DIFFERS = Signature(
    name="ARROW_TABLE_SCHEMA_DIFFERS",
    source="pyarrow",
    pattern=(
        r"(?s)Table schema does not match schema used to create file:\s*"
        r"table:\n(?P<found>.*?) vs\.\s*\nfile:\n(?P<expected>.*)"
    ),
    example=(
        "Table schema does not match schema used to create file: \ntable:\nqty: string vs. "
        "\nfile:\nqty: int64"
    ),
)
ARROW_SCHEMAS_DIFFER = Signature(
    name="ARROW_SCHEMAS_DIFFER",
    source="pyarrow",
    pattern=r"(?s)Schema at index (?P<number>\d+) was different: \n(?P<expected>.*?)\nvs\n(?P<found>.*)",
    example="Schema at index 1 was different: \nqty: int64\nvs\nqty: string",
)
ARROW_VALUE_NOT_CONVERTED = Signature(
    name="ARROW_VALUE_NOT_CONVERTED",
    source="pyarrow",
    pattern=(
        r"(?s)(?:tried to convert to (?P<expected>[\w\[\], ]+?)|Expected (?P<wanted>\w+), got an? "
        r"'?(?P<got>\w+)'? object)\W.*Conversion failed for column (?P<column>.+?) with "
        r"type (?P<found>\w+)"
    ),
    example=(
        "(\"Could not convert 'three' with type str: tried to convert to int64\", "
        "'Conversion failed for column qty with type object')"
    ),
)
ARROW_FIELD_NOT_FOUND = Signature(
    name="ARROW_FIELD_NOT_FOUND",
    source="pyarrow",
    pattern=(
        r"No match for FieldRef\.Name\((?P<columns>[^)]+)\)"
        r"|Field \"(?P<field>[^\"]+)\" does not exist in (?:schema|table schema)"
    ),
    example="No match for FieldRef.Name(quantity) in order: int64\nqty: int64",
)
XGBOOST_CHECK_FAILED = Signature(
    name="XGBOOST_CHECK_FAILED",
    source="xgboost",
    pattern=(
        r"(?:\[\d\d:\d\d:\d\d\] )?\S+\.(?:cc|cu|h|cpp):\d+: Check failed: "
        r"(?P<check>.*?): (?P<why>[^\n]+)"
    ),
    example=(
        "[12:01:02] /workspace/src/data/data.cc:507: Check failed: valid: Label contains "
        "NaN, infinity or a value too large.\nStack trace:\n  [bt] (0) libxgboost.so(+0x2)"
    ),
)
XGBOOST_INVALID_COLUMNS = Signature(
    name="XGBOOST_INVALID_COLUMNS",
    source="xgboost",
    pattern=(
        r"DataFrame\.dtypes for data must be int, float, bool or category[\s\S]*?"
        r"Invalid columns:\s*(?P<column>[^:,\s]+): (?P<found>\w+)"
    ),
    example=(
        "DataFrame.dtypes for data must be int, float, bool or category. When categorical "
        "type is supplied, the experimental DMatrix parameter`enable_categorical` must be "
        "set to `True`.  Invalid columns:city: object"
    ),
)
XGBOOST_FEATURES_MISSING = Signature(
    name="XGBOOST_FEATURES_MISSING",
    source="xgboost",
    pattern=(
        r"feature_names mismatch: [\s\S]*?"
        r"(?:expected (?P<columns>[^\n]+?) in input data"
        r"|training data did not have the following fields: (?P<extra>[^\n]+))"
    ),
    example=(
        "feature_names mismatch: ['order', 'qty'] ['order']\nexpected qty in input data"
    ),
)
