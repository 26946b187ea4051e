"""Validation of a report against report.schema.json, quick on reports of any length."""

from __future__ import annotations

import json
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

import jsonschema

SCHEMA = Path(__file__).resolve().parents[3] / "dialects/dash/Schedule/report.schema.json"


@lru_cache(maxsize=1)
def _validator() -> jsonschema.Draft202012Validator:
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def _shape(value: Any) -> Any:
    """Equal for two elements of a list that no schema with minimums of -1 to 1 can tell apart."""
    if type(value) is int:
        return max(-2, min(value, 1))
    if isinstance(value, list):
        return (list, len(value), *{_shape(element): None for element in value})
    if isinstance(value, dict):
        return (dict, *((key, _shape(element)) for key, element in value.items()))
    return (type(value), value)


def _thinned(value: Any) -> Any:
    """The same value with one element of each shape left in long lists, but for those of numbers,
    whose length a schema may state."""
    if isinstance(value, dict):
        return {key: _thinned(element) for key, element in value.items()}
    if isinstance(value, list) and len(value) > 2 and not isinstance(value[0], int):
        return [_thinned(element) for element in {_shape(e): e for e in value}.values()]
    if isinstance(value, list):
        return [_thinned(element) for element in value]
    return value


def schema_differences(document: Any) -> list[str]:
    """Departures from the schema, each with its place; at most a page of them."""
    if _validator().is_valid(_thinned(document)):
        return []
    errors = islice(_validator().iter_errors(document), 20)
    return [f"schema: {error.json_path}: {error.message}" for error in errors]
