"""Messages of pandas and dask.dataframe about columns, types and divisions."""

from __future__ import annotations

import re

from dask_blackbox.analyse.explanations.explained import (
    Context,
    Explained,
    columns_in,
    named,
    place,
)
from dask_blackbox.analyse.frames import is_of_environment, last_frame
from dask_blackbox.analyse.signatures import data_libraries as lines
from dask_blackbox.analyse.signatures import services

_ROW = re.compile(
    r"^\| *(?P<column>\S.*?) *\| *(?P<found>\S.*?) *\| *(?P<expected>\S.*?) *\|$",
    re.MULTILINE,
)
_DTYPES = re.compile(r"^dtype=\{[^}]*\}", re.MULTILINE)
_DATES = re.compile(
    r"columns failed to properly parse as dates:\s+- (?P<columns>.+(?:\n- .+)*)"
)
_PANDAS = ("/pandas/", "/dask/dataframe/", "/dask_expr/", "/pyarrow/")
_ABSENT = "-"


def _rows(message: str) -> list[tuple[str, str, str]]:
    """Return column, found and expected of the table in a message of Dask's."""
    rows = [(m["column"], m["found"], m["expected"]) for m in _ROW.finditer(message)]
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
            file=context.file,
            fix=f"Read without `parse_dates={names!r}`, then convert with `dd.to_datetime(…, errors='coerce')`.",
        )
    column, found, expected = rows[0]
    more = f" ({len(rows) - 1} more columns differ)" if len(rows) > 1 else ""
    dtypes = _DTYPES.search(context.message)
    code = dtypes[0] if dtypes else f"dtype={{{column!r}: {found!r}}}"
    return Explained(
        headline=f"column '{column}' is {found}{where}, {expected} expected{more}",
        column=column,
        found=found,
        expected=expected,
        file=context.file,
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
        found=got or None,
        expected=wanted or None,
        file=context.file,
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
        file=context.file,
        fix=(
            "Pass `meta=` with the columns that the function returns, in the same "
            "order, or return those that `meta` declares."
        ),
    )


def _divisions(_: re.Match[str], __: Context) -> Explained:
    return Explained(
        headline="the divisions of the data frame are unknown",
        fix=(
            "This operation needs to know where each partition begins: "
            "`df = df.set_index('<column>')` (`sorted=True` if it is sorted already), or "
            "`read_parquet(…, calculate_divisions=True)` where the index was written."
        ),
    )


def _missing_columns(found: re.Match[str], context: Context) -> Explained | None:
    groups = found.groupdict()
    names = columns_in(groups.get("columns"))
    if not names:
        return None
    return Explained(
        headline=f"no {named('column', names)}{place(context.file)}",
        column=names[0],
        file=context.file,
        fix=_look_at_header(context.file),
    )


def _no_attribute(found: re.Match[str], context: Context) -> Explained | None:
    """Explain an attribute that a data frame does not have: a column, or a method."""
    [name] = columns_in(found["columns"]) or [""]
    if not re.search(rf"\.{re.escape(name)}\(", context.traceback):
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
    return Explained(
        headline=f"no column '{column}'{place(context.file)}",
        column=column,
        file=context.file,
        fix=_look_at_header(context.file),
    )


def _not_a_number(found: re.Match[str], context: Context) -> Explained | None:
    if not _in_pandas(context):
        return None
    value = found["found"] if found["found"] is not None else found["whole"]
    return Explained(
        headline=f"'{value}' is not a number{place(context.file)}",
        found=value,
        expected="a number",
        file=context.file,
        fix=(
            f"If it stands for a missing value: `read_csv(…, na_values=[{value!r}])`, or "
            "`pd.to_numeric(…, errors='coerce')`."
        ),
    )


def _not_a_decimal(_: re.Match[str], context: Context) -> Explained:
    return Explained(
        headline=f"a text is not a decimal number{place(context.file)}",
        expected="a decimal number",
        file=context.file,
        fix=(
            "`Decimal(…)` accepts digits, a sign, a point and an exponent, but no comma, "
            "currency or empty text: clean the text first."
        ),
    )


def _in_pandas(context: Context) -> bool:
    """Return whether it was code of a data frame library that raised."""
    last = last_frame(context.traceback)
    return last is not None and any(part in f"/{last.file}" for part in _PANDAS)


def _look_at_header(file: str | None) -> str:
    """Return what shows the columns that a file has."""
    name = (file or "").lower()
    if file and name.endswith((".parquet", ".parq")):
        return f"List its columns: `pyarrow.parquet.read_schema({file!r}).names`."
    if file and any(part in name for part in (".csv", ".tsv", ".txt")):
        return f"List its columns: `pd.read_csv({file!r}, nrows=0).columns`."
    return "Print `df.columns` before this line: was the column renamed, or dropped?"


def _merge_keys(found: re.Match[str], _: Context) -> Explained:
    column, left, right = found["column"], found["found"], found["expected"]
    key = f"'{column}' " if column else ""
    code = f"df[{column!r}].astype({left!r})" if column else "astype"
    return Explained(
        headline=f"merge key {key}is {left} on one side, {right} on the other",
        column=column,
        found=left,
        expected=right,
        fix=f"Convert the key to one type on both sides before merging: `{code}`.",
    )


def _csv_fields(found: re.Match[str], context: Context) -> Explained:
    line, wanted, got = found["line"], found["expected"], found["found"]
    where = place(context.file)
    return Explained(
        headline=f"line {line}{where} has {got} fields, {wanted} expected",
        found=got,
        expected=wanted,
        file=context.file,
        fix=(
            "A field that holds the separator has to be quoted. To skip such lines: "
            "`on_bad_lines='warn'`."
        ),
    )


def _csv_empty(_: re.Match[str], context: Context) -> Explained:
    name = (context.file or "").rpartition("/")[2] or "the file"
    return Explained(
        headline=f"{name} is empty: it has no columns to parse",
        file=context.file,
        fix="Check why it was written without a header, or skip files of 0 bytes.",
    )


def _no_folder(found: re.Match[str], _: Context) -> Explained:
    return Explained(
        headline=f"folder {found['file']} does not exist",
        file=found["file"],
        fix="Create it on every worker first: `os.makedirs(…, exist_ok=True)`.",
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
    (lines.DIVISIONS_UNKNOWN, _divisions),
    (lines.MERGE_KEYS_DIFFER, _merge_keys),
    (lines.CSV_FIELDS_DIFFER, _csv_fields),
    (lines.CSV_IS_EMPTY, _csv_empty),
    (lines.NO_SUCH_FOLDER, _no_folder),
    (services.NOT_A_NUMBER, _not_a_number),
    (services.NOT_A_DECIMAL, _not_a_decimal),
)
"""Rows of the catalogue, each with what makes an explanation of it."""
