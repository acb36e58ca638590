"""What can go wrong with one attempt, in one table: litellm's exception classes to our fault types."""

import email.utils
import json
import math
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import httpx

from crosspath.adapters.litellm_model.redaction import redact
from crosspath.adapters.litellm_model.wire import Attempt
from crosspath.errors import ModelError


@dataclass(frozen=True)
class Kind:
    """A type of fault, and whether the same request may be sent again."""

    type: str
    retryable: bool = False


RATE_LIMIT = Kind("rate_limit", retryable=True)
QUOTA = Kind("quota")
TIMEOUT = Kind("timeout", retryable=True)
CONNECTION = Kind("connection", retryable=True)
SERVER_ERROR = Kind("server_error", retryable=True)
BAD_RESPONSE = Kind("bad_response", retryable=True)
BAD_REQUEST = Kind("bad_request")
AUTH = Kind("auth")
NOT_FOUND = Kind("not_found")
NOT_RECORDED = Kind("not_recorded")
CONTEXT_WINDOW = Kind("context_window")
CONTENT_FILTER = Kind("content_filter")
UNKNOWN = Kind("unknown")

TABLE: dict[str, Kind] = {
    "AuthenticationError": AUTH,
    "CallerCredentialAuthenticationError": AUTH,
    "PermissionDeniedError": AUTH,
    "NotFoundError": NOT_FOUND,
    "RateLimitError": RATE_LIMIT,
    "CallerCredentialRateLimitError": RATE_LIMIT,
    "PaymentRequiredError": QUOTA,
    "BudgetExceededError": QUOTA,
    "Timeout": TIMEOUT,
    "APIConnectionError": CONNECTION,
    "ServiceUnavailableError": SERVER_ERROR,
    "MidStreamFallbackError": SERVER_ERROR,
    "BadGatewayError": SERVER_ERROR,
    "InternalServerError": SERVER_ERROR,
    "APIError": SERVER_ERROR,
    "OpenAIError": UNKNOWN,
    "APIResponseValidationError": BAD_RESPONSE,
    "JSONSchemaValidationError": BAD_RESPONSE,
    "ContextWindowExceededError": CONTEXT_WINDOW,
    "ContentPolicyViolationError": CONTENT_FILTER,
    "RejectedRequestError": CONTENT_FILTER,
    "BadRequestError": BAD_REQUEST,
    "InvalidRequestError": BAD_REQUEST,
    "ImageFetchError": BAD_REQUEST,
    "VectorStoreSearchError": BAD_REQUEST,
    "MalformedRequestFieldError": BAD_REQUEST,
    "UnsupportedEndpointError": BAD_REQUEST,
    "EndpointNotSupportedByModelError": BAD_REQUEST,
    "UnprocessableEntityError": BAD_REQUEST,
    "UnsupportedParamsError": BAD_REQUEST,
    "LiteLLMUnknownProvider": BAD_REQUEST,
    "ModelNotMappedError": UNKNOWN,
    "MockException": UNKNOWN,
    "GuardrailRaisedException": UNKNOWN,
    "BlockedPiiEntityError": UNKNOWN,
    "ModifyResponseException": UNKNOWN,
    "SensitiveDataRouteException": UNKNOWN,
}
"""Name of a class of ``litellm.exceptions`` -> kind. Complete: a test fails when litellm adds a class."""

_BY_STATUS = {
    400: BAD_REQUEST,
    401: AUTH,
    402: QUOTA,
    403: AUTH,
    404: NOT_FOUND,
    408: TIMEOUT,
    413: CONTEXT_WINDOW,
    425: RATE_LIMIT,
    429: RATE_LIMIT,
}
_BY_CODE = {
    "content_filter": CONTENT_FILTER,
    "content_policy_violation": CONTENT_FILTER,
    "context_length_exceeded": CONTEXT_WINDOW,
    "insufficient_quota": QUOTA,
}
"""``code`` of an OpenAI-style error body; it says more than the status."""
_SPECIFIC = (CONTENT_FILTER, CONTEXT_WINDOW)
"""Kinds that litellm reads out of other providers' messages."""


def kind_of(error: BaseException, attempt: Attempt) -> Kind:
    """What ``error`` was. What was seen on the wire goes before litellm's class: it calls a broken connection a server error."""
    named = _by_class(type(error))
    if isinstance(attempt.failure, httpx.TimeoutException):
        return TIMEOUT
    if attempt.failure is not None:
        return CONNECTION
    if named in _SPECIFIC or attempt.status is None:
        return named
    return _BY_CODE.get(_error_text(attempt.body, "code") or "") or _by_status(attempt.status, named)


def _by_class(kind: type[BaseException]) -> Kind:
    return next((TABLE[base.__name__] for base in kind.__mro__ if base.__name__ in TABLE), UNKNOWN)


def _by_status(status: int, named: Kind) -> Kind:
    if 300 <= status < 400:
        return BAD_REQUEST  # redirects are not followed: the request would go to a host that nobody named
    if status < 400:
        # A gateway that packs its provider's error into a 200 gives the code in the body; litellm's class knows it.
        return named if named in (RATE_LIMIT, AUTH, NOT_FOUND) else BAD_RESPONSE
    if status >= 500:
        return SERVER_ERROR
    return _BY_STATUS.get(status, BAD_REQUEST)


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait, from ``Retry-After`` (seconds or a date) or ``Retry-After-Ms``; None where the server doesn't say."""
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    text = headers.get("retry-after")
    seconds = _number(text)
    return seconds if seconds is not None or text is None else _until(text)


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return max(0.0, value) if math.isfinite(value) else None


def _until(date: str) -> float | None:
    try:
        return max(0.0, email.utils.parsedate_to_datetime(date).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return None


def model_error(error: BaseException, attempt: Attempt, secrets: Iterable[str]) -> ModelError:
    """The ``ModelError`` for ``error``: one line, without secrets (they go before it is cut)."""
    kind = kind_of(error, attempt)
    message = redact(_one_line(error, attempt), secrets)[:500]
    return ModelError(message, type_=kind.type, retryable=kind.retryable, retry_after_s=retry_after_s(_headers(error, attempt)))


def _headers(error: BaseException, attempt: Attempt) -> Mapping[str, str]:
    """Of the response as we saw it, else as litellm kept it."""
    return attempt.headers or getattr(getattr(error, "response", None), "headers", None) or {}


def _one_line(error: BaseException, attempt: Attempt) -> str:
    if attempt.failure is not None:
        return f"{type(attempt.failure).__name__}: {attempt.failure}".rstrip(": ")
    status = f"status {attempt.status}: " if attempt.status is not None else ""
    return status + " ".join((_error_text(attempt.body, "message") or _before_trace(error)).split())


def _before_trace(error: BaseException) -> str:
    """litellm packs a traceback into some messages."""
    return str(error).partition("Traceback (most recent call last)")[0]


def _error_text(body: bytes | None, name: str) -> str | None:
    """A text field of an OpenAI-style error body; a bare error text is its ``message``."""
    try:
        error = json.loads(body or b"").get("error")
    except (ValueError, AttributeError, RecursionError):
        return None
    value = error.get(name) if isinstance(error, dict) else error if name == "message" else None
    return value if isinstance(value, str) else None
