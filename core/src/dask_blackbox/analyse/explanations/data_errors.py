"""Messages of pandas, dask.dataframe, Arrow and XGBoost about columns, types and values."""

from __future__ import annotations

import re

from dask_blackbox.analyse.explanations.explained import (
    Context,
    Explained,
    columns_in,
    named,
    place,
    says,
)
from dask_blackbox.analyse.frames import is_of_environment, last_frame
from dask_blackbox.analyse.signatures import data_libraries as lines
from dask_blackbox.analyse.signatures import services
from dask_blackbox.patterns import bounded

_FIELD = bounded(r"^[ \t]*(?P<name>[^\s:][^:\n]*): (?P<type>[^\n]+)$", re.MULTILINE)
_ONE_SCHEMA = (
    "Write every file with one schema (`to_parquet(…, schema=…)`), or convert the column "
    "after reading, partition by partition."
)


def _fields(schema: str) -> dict[str, str]:
    return {found["name"]: found["type"].strip() for found in _FIELD.finditer(schema)}


def _differs(found: re.Match[str], context: Context) -> Explained | None:
    """Explain two schemas that should be one: the first field that differs."""
    got, wanted = _fields(found["found"]), _fields(found["expected"])
    names = [name for name in {**wanted, **got} if got.get(name) != wanted.get(name)]
    if not names:
        return None
    name = names[0]
    has, should = got.get(name), wanted.get(name)
    if has is None:
        what = f"column '{name}' ({should}) is missing{place(context.file)}"
    elif should is None:
        what = f"column '{name}' ({has}){place(context.file)} is not in the schema"
    else:
        what = f"column '{name}' is {has}{place(context.file)}, {should} expected"
    more = f" ({len(names) - 1} more columns differ)" if len(names) > 1 else ""
    fix = _ONE_SCHEMA
    if has and should:
        fix = f"Convert it: `df.astype({{{name!r}: …}})`. {_ONE_SCHEMA}"
    return Explained(what + more, fix, name)


def _not_parquet(found: re.Match[str], context: Context) -> Explained:
    file = found["file"] or context.file
    name = (file or "").rpartition("/")[2] or "the file"
    size = found["size"]
    why = f"it has {size} bytes" if size else "it is truncated or has another format"
    return Explained(
        headline=f"{name} is not a readable Parquet file: {why}",
        fix=(
            "Check the job that writes it: a killed job leaves an incomplete file "
            "(write to a temporary name, then rename). `_SUCCESS` and log files in the "
            "same folder can be excluded with a pattern, `read_parquet('…/*.parquet')`."
        ),
    )


def _field_names(found: re.Match[str], context: Context) -> Explained:
    has, wanted = columns_in(found["found"]), columns_in(found["expected"])
    missing = [name for name in wanted if name not in has]
    extra = [name for name in has if name not in wanted]
    parts = [f"no {named('column', missing)}"] if missing else []
    parts += [f"{named('column', extra)} not in the schema"] if extra else []
    what = ", ".join(parts) or "columns in another order than in the schema"
    fix = "Select the columns of the schema first: `table.select(schema.names)`."
    if missing:
        fix = "Use the data's names in the schema, or add the columns."
    column = next(iter(missing or extra), None)
    return Explained(what + place(context.file), fix, column, of_values=True)


def _value(found: re.Match[str], context: Context) -> Explained:
    column = found["column"]
    wanted, got = found["expected"] or found["wanted"], found["got"] or found["found"]
    return Explained(
        headline=f"column '{column}' holds {got} values, {wanted} expected{place(context.file)}",
        column=column,
        fix="Convert the column to one type before writing: "
        f"`df.astype({{{column!r}: 'string'}})`.",
    )


def _made_up_object(found: re.Match[str], context: Context) -> Explained | None:
    """Explain a value that Dask makes up for a column of objects, to find its type."""
    if "/dask/dataframe/" not in context.traceback:
        return None
    return Explained(
        "a column holds Python objects, of a type that Dask does not know",
        "Dask takes the types of a file from made-up values, and a column of objects (dates, "
        "decimals, lists) shows none. Name it: `to_parquet(…, schema={'column': pa.date32()})`, "
        "or convert the column before (`astype('datetime64[ns]')`, `astype('string')`).",
    )


def _no_field(found: re.Match[str], context: Context) -> Explained:
    schema = f"List its columns: `pyarrow.parquet.read_schema({context.file!r}).names`."
    names = [found["columns"] or found["field"]]
    return _no_columns(names, context, schema if context.file else None)


def _no_columns(names: list[str], context: Context, fix: str | None) -> Explained:
    headline = f"no {named('column', names)}{place(context.file)}"
    return Explained(headline, fix, names[0])


_LABELS_OF_OTHER_SIZE = bounded(r"Invalid size for `label`|Size of labels must equal")


def _xgboost(found: re.Match[str], _: Context) -> Explained:
    why = found["why"].strip().rstrip(".")
    nan = "NaN" in why and "abel" in why
    if _LABELS_OF_OTHER_SIZE.search(why):
        return Explained(
            headline=f"XGBoost: a partition has another number of labels than of rows ({why})",
            fix="Divide both at the same rows: take the labels from the partitioned frame "
            "(`df['label']`, not a frame of their own), or "
            "`labels.repartition(divisions=features.divisions)`; of arrays, "
            "`labels.rechunk(features.chunks[0])`.",
        )
    return Explained(
        headline=f"XGBoost: {why}",
        fix="Drop or fill missing labels before training: `df.dropna(subset=[label])`."
        if nan
        else None,
    )


def _xgboost_features(found: re.Match[str], _: Context) -> Explained:
    missing, extra = columns_in(found["columns"]), columns_in(found["extra"])
    what = (
        f"{named('column', missing)} of the training data missing"
        if missing
        else f"{named('column', extra)} not in the training data"
    )
    return Explained(
        headline=f"XGBoost: {what}",
        column=next(iter(missing or extra), None),
        fix="Predict with the columns of the training: `df[model.feature_names]`.",
    )


_ROW = bounded(
    r"^\|(?P<column>[^|\n]+)\|(?P<found>[^|\n]+)\|(?P<expected>[^|\n]+)\|$",
    re.MULTILINE,
)
_DTYPES = bounded(r"^dtype=\{[^}]*\}", re.MULTILINE)
_DATES = bounded(
    r"columns failed to properly parse as dates:\s+- (?P<columns>.+(?:\n- .+)*)"
)
_PANDAS = ("/pandas/", "/dask/dataframe/", "/dask_expr/", "/pyarrow/")
_ABSENT = "-"


def _rows(message: str) -> list[tuple[str, str, str]]:
    """Return column, found and expected of the table in a message of Dask's."""
    rows = [[each.strip() for each in m.groups()] for m in _ROW.finditer(message)]
    return [(c.strip("'"), f, e) for c, f, e in rows if (c, f) != ("Column", "Found")]


def _csv_dtypes(_: re.Match[str], context: Context) -> Explained | None:
    rows = _rows(context.message)
    dates = _DATES.search(context.message)
    if not rows and dates is None:
        return None
    where = place(context.file)
    if not rows and dates is not None:
        names = [name.strip("- ") for name in dates["columns"].split("\n")]
        return Explained(
            headline=f"{named('column', names)} cannot be parsed as dates{where}",
            column=names[0],
            fix=f"Read without `parse_dates={names!r}`, then convert with `dd.to_datetime(…, errors='coerce')`.",
        )
    column, found, expected = rows[0]
    more = f" ({len(rows) - 1} more columns differ)" if len(rows) > 1 else ""
    dtypes = _DTYPES.search(context.message)
    code = dtypes[0] if dtypes else f"dtype={{{column!r}: {found!r}}}"
    return Explained(
        headline=f"column '{column}' is {found}{where}, {expected} expected{more}",
        column=column,
        fix=f"Pass `{code}` to `read_csv`: Dask took the types from the first rows of the first file.",
    )


def _meta(found: re.Match[str], context: Context) -> Explained | None:
    function = found["function"]
    rows = _rows(context.message)
    if not rows:
        return None
    column, got, wanted = rows[0]
    where = place(context.file)
    what = f"column '{column}' is {got}{where}, {wanted} in `meta`"
    fix = f"Convert it before it is returned (`df.astype({{{column!r}: {wanted!r}}})`), or name {got!r} in `meta=`."
    if wanted == _ABSENT:
        what, wanted = f"column '{column}' ({got}){where} is not in `meta`", ""
        fix = f"Add {column!r}: {got!r} to `meta=`, or leave the column out of what is returned."
    elif got == _ABSENT:
        what, got = f"column '{column}' ({wanted} in `meta`) is missing{where}", ""
        fix = f"Return the column, or leave {column!r} out of `meta=`."
    more = f" ({len(rows) - 1} more columns differ)" if len(rows) > 1 else ""
    return Explained(
        headline=what + more,
        column=column,
        fix=fix + (f" The check is that of `{function}`." if function else ""),
    )


def _meta_columns(found: re.Match[str], context: Context) -> Explained:
    extra, missing = columns_in(found["extra"]), columns_in(found["missing"])
    if missing and extra:
        what = f"{named('column', extra)} where `meta` has {named('column', missing)}"
    elif missing:
        what = f"no {named('column', missing)}, which `meta` declares"
    elif extra:
        what = f"{named('column', extra)} not in `meta`"
    else:
        what = "the columns are in another order than in `meta`"
    return Explained(
        headline=what,
        column=next(iter(missing or extra), None),
        fix=(
            "Pass `meta=` with the columns that the function returns, in the same "
            "order, or return those that `meta` declares."
        ),
    )


def _missing_columns(found: re.Match[str], context: Context) -> Explained | None:
    groups = found.groupdict()
    names = columns_in(groups.get("columns"))
    if not names:
        return None
    return _no_columns(names, context, _look_at_header(context))


def _no_attribute(found: re.Match[str], context: Context) -> Explained | None:
    """Explain an attribute that a data frame does not have: a column, or a method."""
    [name] = columns_in(found["columns"]) or [""]
    if not bounded(rf"\.{re.escape(name)}\(").search(context.traceback):
        return _missing_columns(found, context)
    return Explained(
        headline=f"the data frame has no method '{name}'",
        fix=(
            f"Check whether the installed version of pandas has `{name}`: methods that are "
            "deprecated in one major version are removed in the next."
        ),
    )


def _key_error(found: re.Match[str], context: Context) -> Explained | None:
    """Explain a bare `KeyError: 'qty'`, if a data frame or the environment was asked."""
    if not context.exception.endswith("KeyError"):
        return None
    column = found["columns"]
    if is_of_environment(context.traceback):
        return Explained(
            headline=f"the environment variable '{column}' is not set",
            fix=(
                f"Set {column} where this runs: tasks see the variables of their worker's "
                "process, not the driver's."
            ),
        )
    if not _in_pandas(context):
        return None
    return _no_columns([column], context, _look_at_header(context))


def _not_a_number(found: re.Match[str], context: Context) -> Explained | None:
    if not _in_pandas(context):
        return None
    value = found["found"] if found["found"] is not None else found["whole"]
    return Explained(
        headline=f"'{value}' is not a number{place(context.file)}",
        fix=(
            f"If it stands for a missing value: `read_csv(…, na_values=[{value!r}])`, or "
            "`pd.to_numeric(…, errors='coerce')`."
        ),
        of_values=True,
    )


def _in_pandas(context: Context) -> bool:
    """Return whether it was code of a data frame library that raised."""
    last = last_frame(context.traceback)
    return last is not None and any(part in f"/{last.file}" for part in _PANDAS)


def _look_at_header(context: Context) -> str:
    """Return what shows the columns that a file, or a data frame, has."""
    file = context.file
    name = (file or "").lower()
    if file and name.endswith((".parquet", ".parq")):
        return f"List its columns: `pyarrow.parquet.read_schema({file!r}).names`."
    if file and any(part in name for part in (".csv", ".tsv", ".txt")):
        return f"List its columns: `pd.read_csv({file!r}, nrows=0).columns`."
    look = "Print `df.columns` before this line: was the column renamed, or dropped?"
    if "/dask/dataframe/" not in context.traceback:
        return look
    return (
        f"{look} If it was read from several files: Dask takes the columns of the first one. "
        "Compare theirs, and read only files that have this column, or write all of them with "
        "the same columns."
    )


def _merge_keys(found: re.Match[str], _: Context) -> Explained:
    column, left, right = found["column"], found["found"], found["expected"]
    key = f"'{column}' " if column else ""
    code = f"df[{column!r}].astype({left!r})" if column else "astype"
    return Explained(
        headline=f"merge key {key}is {left} on one side, {right} on the other",
        column=column,
        fix=f"Convert the key to one type on both sides before merging: `{code}`.",
        of_values=True,
    )


EXPLANATIONS = (
    (lines.CSV_DTYPES_DIFFER, _csv_dtypes),
    (lines.META_DIFFERS, _meta),
    (lines.META_COLUMNS_DIFFER, _meta_columns),
    (lines.PARQUET_COLUMNS_NOT_FOUND, _missing_columns),
    (lines.USECOLS_NOT_FOUND, _missing_columns),
    (lines.COLUMNS_NOT_IN_INDEX, _missing_columns),
    (lines.NO_SUCH_ATTRIBUTE_OF_FRAME, _no_attribute),
    (lines.COLUMN_IS_MISSING, _key_error),
    (
        lines.DIVISIONS_UNKNOWN,
        says(
            "the divisions of the data frame are unknown",
            "This operation needs known divisions (where each partition begins): `df = "
            "df.set_index('<column>')` (`sorted=True` if it is sorted already), or "
            "`read_parquet(…, calculate_divisions=True)` where the index was written.",
        ),
    ),
    (lines.MERGE_KEYS_DIFFER, _merge_keys),
    (
        lines.CSV_FIELDS_DIFFER,
        says(
            "line {line}{place} has {found} fields, {expected} expected",
            "A field that holds the separator has to be quoted. To skip such lines: "
            "`on_bad_lines='warn'`.",
            of_values=True,
        ),
    ),
    (
        lines.CSV_IS_EMPTY,
        says(
            "{name} is empty: it has no columns to parse",
            "Check why it was written without a header, or skip files of 0 bytes.",
        ),
    ),
    (
        lines.NO_SUCH_FOLDER,
        says(
            "folder {file} does not exist",
            "Create it on every worker first: `os.makedirs(…, exist_ok=True)`.",
        ),
    ),
    (services.NOT_A_NUMBER, _not_a_number),
    (
        services.NOT_A_DECIMAL,
        says(
            "a text is not a decimal number{place}",
            "`Decimal(…)` accepts digits, a sign, a point and an exponent, but no comma, "
            "currency or empty text: clean the text first.",
            of_values=True,
        ),
    ),
    (lines.PARTITION_SCHEMA_DIFFERS, _differs),
    (lines.ARROW_TABLE_SCHEMA_DIFFERS, _differs),
    (lines.ARROW_SCHEMAS_DIFFER, _differs),
    (lines.NOT_A_PARQUET_FILE, _not_parquet),
    (
        lines.ARROW_FIELD_TYPES_DIFFER,
        says("column '{column}' is both {expected} and {found}", _ONE_SCHEMA),
    ),
    (lines.ARROW_FIELD_NAMES_DIFFER, _field_names),
    (lines.ARROW_VALUE_NOT_CONVERTED, _value),
    (lines.ARROW_TYPE_OF_MADE_UP_OBJECT, _made_up_object),
    (
        lines.ARROW_TYPE_NOT_KNOWN,
        says(
            "column '{column}' holds {found} objects, which Arrow has no type for{place}",
            "Convert the column first (`df[{column!r}].map(str)`), or leave it out.",
        ),
    ),
    (lines.ARROW_FIELD_NOT_FOUND, _no_field),
    (
        lines.XGBOOST_INVALID_COLUMNS,
        says(
            "XGBoost: column '{column}' is {found}, a number or category expected",
            "Convert it (`df.astype({{{column!r}: 'category'}})`) and pass "
            "`enable_categorical=True`, or leave it out.",
        ),
    ),
    (lines.XGBOOST_FEATURES_MISSING, _xgboost_features),
    (lines.XGBOOST_CHECK_FAILED, _xgboost),
)
"""Rows of the catalogue, each with what makes an explanation of it."""
