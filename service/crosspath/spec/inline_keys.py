"""Finds secrets that were written into a spec, so that they never reach a ledger, a run or an error message."""

import re
from collections.abc import Iterator
from urllib.parse import parse_qsl, urlsplit

from crosspath.strict_yaml import Place
from crosspath.types import JSON

_SECRET_NAME = re.compile(
    r"(?:^|[_-])(?:api[_-]?key|authorization|password|passwd|secret(?:[_-]?(?:access[_-]?)?key)?|access[_-]?key"
    r"|private[_-]?key|token|bearer|credentials?)$",
    re.IGNORECASE,
)
_SECRET_VALUE = re.compile(
    r"\bsk-[A-Za-z0-9_-]{12,}|\bBearer\s+\S{8,}|\bBasic\s+[A-Za-z0-9+/=]{12,}|\bgh[pousr]_[A-Za-z0-9]{20,}"
    r"|\bhf_[A-Za-z0-9]{20,}|\bAKIA[A-Z0-9]{16}\b|\bAIza[A-Za-z0-9_-]{30,}|\bxox[abpr]-[A-Za-z0-9-]{10,}"
    r"|\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.|-----BEGIN [A-Z ]*PRIVATE KEY"
)
_SECRET_PARAMETER = re.compile(_SECRET_NAME.pattern[:-2] + r"|key|sig|signature|code)$", re.IGNORECASE)
"""In the query of an address, where ``key`` means only one thing."""
_ADVICE = "put it into an environment variable and name that in api_key_env"


def inline_key(value: JSON, place: Place = ()) -> tuple[Place, str] | None:
    """The place of the first secret in a document and what to do about it, without the secret; None if there is none."""
    return next(_inline_keys(value, place), None)


def _inline_keys(value: JSON, place: Place) -> Iterator[tuple[Place, str]]:
    if isinstance(value, dict):
        for key, item in value.items():
            if _SECRET_NAME.search(key) and isinstance(item, str) and not _names_things(place):
                yield (*place, key), f"a key must not stand in a spec; {_ADVICE}"
            yield from _inline_keys(item, (*place, key))
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _inline_keys(item, (*place, number))
    elif isinstance(value, str) and _SECRET_VALUE.search(value):
        yield place, f"this looks like a key, which must not stand in a spec; {_ADVICE}"
    elif isinstance(value, str) and "://" in value and _url_has_key(value):
        yield place, f"an address must not hold a user, a password or a key; {_ADVICE}"


def _names_things(place: Place) -> bool:
    """Keys at this place are names that the person chose, such as a candidate called ``token``."""
    return place in (("models",), ("candidates",), ("transports",))


def _url_has_key(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    named = (name for text in (parts.query, parts.fragment) for name, _ in parse_qsl(text, keep_blank_values=True))
    return "@" in parts.netloc or any(_SECRET_PARAMETER.search(name) for name in named)
