"""Messages of Arrow, Parquet and XGBoost about schemas and values."""

from __future__ import annotations

import re

from dask_blackbox.analyse.explanations.explained import (
    Context,
    Explained,
    columns_in,
    named,
    place,
)
from dask_blackbox.analyse.signatures import data_libraries as lines

_FIELD = re.compile(r"^\s*(?P<name>[^\s:][^:\n]*): (?P<type>[^\n]+)$", re.MULTILINE)
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
    return Explained(
        headline=what + more,
        column=name,
        found=has,
        expected=should,
        file=context.file,
        fix=fix,
    )


def _not_parquet(found: re.Match[str], context: Context) -> Explained:
    file = found["file"] or context.file
    name = (file or "").rpartition("/")[2] or "the file"
    size = found["size"]
    why = f"it has {size} bytes" if size else "it is truncated or has another format"
    return Explained(
        headline=f"{name} is not a readable Parquet file: {why}",
        file=file,
        fix=(
            "Check the job that writes it: a killed job leaves an incomplete file "
            "(write to a temporary name, then rename). `_SUCCESS` and log files in the "
            "same folder can be excluded with a pattern, `read_parquet('…/*.parquet')`."
        ),
    )


def _field_types(found: re.Match[str], context: Context) -> Explained:
    column, wanted, got = found["column"], found["expected"], found["found"]
    return Explained(
        headline=f"column '{column}' is both {wanted} and {got}",
        column=column,
        found=got,
        expected=wanted,
        file=context.file,
        fix=_ONE_SCHEMA,
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
    return Explained(
        headline=what + place(context.file),
        column=next(iter(missing or extra), None),
        found=", ".join(has),
        expected=", ".join(wanted),
        file=context.file,
        fix=fix,
    )


def _value(found: re.Match[str], context: Context) -> Explained:
    column = found["column"]
    wanted, got = found["expected"] or found["wanted"], found["got"] or found["found"]
    return Explained(
        headline=f"column '{column}' holds {got} values, {wanted} expected{place(context.file)}",
        column=column,
        found=got,
        expected=wanted,
        file=context.file,
        fix="Convert the column to one type before writing: "
        f"`df.astype({{{column!r}: 'string'}})`.",
    )


def _no_type(found: re.Match[str], context: Context) -> Explained:
    column, got = found["column"], found["found"]
    return Explained(
        headline=f"column '{column}' holds {got} objects, which Arrow has no type for"
        f"{place(context.file)}",
        column=column,
        found=got,
        file=context.file,
        fix=f"Convert the column first (`df[{column!r}].map(str)`), or leave it out.",
    )


def _no_field(found: re.Match[str], context: Context) -> Explained:
    column = found["columns"] or found["field"]
    return Explained(
        headline=f"no column '{column}'{place(context.file)}",
        column=column,
        file=context.file,
        fix=(
            f"List its columns: `pyarrow.parquet.read_schema({context.file!r}).names`."
            if context.file
            else None
        ),
    )


def _xgboost(found: re.Match[str], _: Context) -> Explained:
    why = found["why"].strip().rstrip(".")
    nan = "NaN" in why and "abel" in why
    return Explained(
        headline=f"XGBoost: {why}",
        fix="Drop or fill missing labels before training: `df.dropna(subset=[label])`."
        if nan
        else None,
    )


def _xgboost_types(found: re.Match[str], _: Context) -> Explained:
    column, got = found["column"], found["found"]
    return Explained(
        headline=f"XGBoost: column '{column}' is {got}, a number or category expected",
        column=column,
        found=got,
        expected="int, float, bool or category",
        fix=(
            f"Convert it (`df.astype({{{column!r}: 'category'}})`) and pass "
            "`enable_categorical=True`, or leave it out."
        ),
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


EXPLANATIONS = (
    (lines.PARTITION_SCHEMA_DIFFERS, _differs),
    (lines.ARROW_TABLE_SCHEMA_DIFFERS, _differs),
    (lines.ARROW_SCHEMAS_DIFFER, _differs),
    (lines.NOT_A_PARQUET_FILE, _not_parquet),
    (lines.ARROW_FIELD_TYPES_DIFFER, _field_types),
    (lines.ARROW_FIELD_NAMES_DIFFER, _field_names),
    (lines.ARROW_VALUE_NOT_CONVERTED, _value),
    (lines.ARROW_TYPE_NOT_KNOWN, _no_type),
    (lines.ARROW_FIELD_NOT_FOUND, _no_field),
    (lines.XGBOOST_INVALID_COLUMNS, _xgboost_types),
    (lines.XGBOOST_FEATURES_MISSING, _xgboost_features),
    (lines.XGBOOST_CHECK_FAILED, _xgboost),
)
"""Rows of the catalogue, each with what makes an explanation of it."""
