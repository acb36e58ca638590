"""What every record shares: frozen, closed, finite, and with one canonical JSON form."""

import hashlib
import json
from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, PlainSerializer, ValidationError
from pydantic_core import PydanticSerializationError

from crosspath.escaping import escape, unescape

JSON = None | bool | int | float | str | list[Any] | dict[str, Any]


def _from_text(value: object) -> object:
    return unescape(value) if isinstance(value, str) else value


EscapedBytes = Annotated[bytes, BeforeValidator(_from_text), PlainSerializer(escape, return_type=str, when_used="json")]
"""Bytes in Python; reversible escaped text (see ``crosspath.escaping``) in JSON and tables."""


class Record(BaseModel):
    """Base of all records: frozen, unknown fields refused, no NaN and no infinity."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, protected_namespaces=())

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy with other values. What was computed from the old ones (cached digests) is not taken along."""
        copied = super().model_copy(update=update, deep=deep)
        for name in vars(copied).keys() - type(self).model_fields.keys():
            delattr(copied, name)
        return copied

    def to_json(self) -> str:
        """The record as ASCII JSON. Unlike pydantic's own form it survives lone surrogates in a model's text."""
        try:
            return self.model_dump_json(ensure_ascii=True)
        except PydanticSerializationError:
            return json.dumps(self.model_dump(mode="json"), ensure_ascii=True, allow_nan=False, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """The inverse of :meth:`to_json`."""
        try:
            return cls.model_validate_json(text)
        except ValidationError as error:
            # pydantic's own parser refuses lone surrogates; whatever else is wrong is wrong for the other one, too.
            if error.errors(include_url=False, include_input=False)[0]["type"] != "json_invalid":
                raise
            return cls.model_validate(json.loads(text))


def canonical_json(value: JSON) -> str:
    """JSON with sorted keys, no white space and ASCII only: equal values give equal text."""
    return json.dumps(value, sort_keys=True, ensure_ascii=True, allow_nan=False, separators=(",", ":"))


def digest(value: JSON) -> str:
    """SHA-256 of the canonical JSON of ``value``, as 64 hexadecimal digits."""
    return hashlib.sha256(canonical_json(value).encode("ascii")).hexdigest()
