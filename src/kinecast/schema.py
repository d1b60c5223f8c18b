"""Files against their typed schemas (pydantic models), with errors for people: file, line, path, what would be right.

The description of a field completes the sentence "must be ...". Importing this module imports pydantic.
"""

from __future__ import annotations

from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError

from kinecast.errors import InputError, brief, unknown
from kinecast.files import Source


class Checked(BaseModel):
    """Base of the schemas: no unknown keys, no text for a number, no NaN or infinity."""

    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)


def check(model: type[Checked], data: Any, source: Source) -> None:
    """Raise what is wrong with `data`; an unknown key comes first, as it explains a missing one."""
    if not isinstance(data, dict):
        raise source.error("", f"must be a mapping (key: value), got {brief(data)}")
    try:
        model.model_validate(data)
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False)
        raise _explained(model, data, min(found, key=_rank), source) from None


def _rank(error: Any) -> int:
    return ["extra_forbidden", "missing"].index(error["type"]) if error["type"] in ("extra_forbidden", "missing") else 2


def _explained(model: type[BaseModel], data: Any, error: Any, source: Source) -> InputError:
    *outer, last = error["loc"]
    known = error["type"] not in ("extra_forbidden", "missing")
    path, value, words = "", data, ""
    kind: Any = model
    field_path, field_value = path, value
    for step in error["loc"] if known else outer:
        if not (step in value if isinstance(value, dict) else isinstance(value, list) and isinstance(step, int)):
            continue  # the name of a union's member: no part of the data
        owner = _holder(kind, value)
        value = value[step]
        path += f"[{step}]" if isinstance(step, int) else f".{step}" if path else str(step)
        if isinstance(owner, type) and issubclass(owner, BaseModel):
            field = owner.model_fields[step]
            kind, words, field_path, field_value = field.annotation, field.description or "", path, value
        else:
            kind = get_args(owner)[-1]
    if known:
        return source.error(field_path, f"must be {words}, got {brief(field_value)}")
    fields = _holder(kind, value).model_fields
    if error["type"] == "missing":
        return source.error(path, f"{last} is missing; it must be {fields[last].description}")
    wrong = unknown("key", last, fields)
    return source.error(f"{path}.{last}" if path else last, str(wrong), like=wrong)


def _holder(kind: Any, value: Any) -> Any:
    """The member of an annotation that a mapping or a list has to be: a model, dict[...] or list[...]."""
    if get_origin(kind) is Annotated:
        kind = get_args(kind)[0]
    if get_origin(kind) in (Union, UnionType):
        return next((found for member in get_args(kind) if (found := _holder(member, value)) is not None), None)
    is_model = isinstance(kind, type) and issubclass(kind, BaseModel)
    return kind if (is_model and isinstance(value, dict)) or get_origin(kind) is type(value) else None
