"""When the program stops asking an endpoint."""

from typing import get_args

import pytest

from crosspath.adapters.litellm_model import faults as model_faults
from crosspath.pipeline.breaker import CONNECTION_ERRORS, REFUSALS, Breaker
from crosspath.types import Boundary, Fault, Reply, Request, TrialKey

A, B = "http://a/v1", "http://b/v1"


def request(endpoint: str | None = A, model: str = "openai/m", key: str | None = "KEY") -> Request:
    trial = TrialKey(generation="g", task="t", index=0)
    return Request(
        key="k", trial=trial, contract="raw", endpoint=endpoint, model=model, messages=(), params={}, timeout_s=1, api_key_env=key
    )


def after(*outcomes: Reply | Fault) -> Breaker:
    breaker = Breaker()
    for outcome in outcomes:
        breaker.note(request(), outcome)
    return breaker


def fault(kind: str, boundary: Boundary = "model") -> Fault:
    return Fault(boundary=boundary, type=kind, message="so it was", retryable=True)


GONE = [fault("connection")] * CONNECTION_ERRORS


def test_nobody_there_is_found_after_a_few_attempts() -> None:
    """Five connection errors at the start end the questions to that address, whichever model; others are still asked."""
    assert after(*GONE[1:]).refusal(request()) is None
    breaker = after(*GONE)
    given_up = breaker.refusal(request(model="openai/other"))
    assert given_up is not None
    assert (given_up.type, given_up.retryable) == ("connection", False)
    assert given_up.message == f"gave up on {A} after 5 connection errors; the last: so it was"
    assert breaker.refusal(request(endpoint=B)) is None


@pytest.mark.parametrize("alive", [Reply(text="x"), fault("server_error"), fault("rate_limit"), fault("bad_request")])
def test_an_endpoint_that_answered_once_is_asked_on(alive: Reply | Fault) -> None:
    """A network that fails later is met with retries: whoever answered, even with an error, is there."""
    assert after(alive, *GONE * 3).refusal(request()) is None


@pytest.mark.parametrize("kind", ["auth", "not_found", "quota"])
def test_refused_key_model_or_account(kind: str) -> None:
    """Three refusals in a row end the questions to that model with that key, and to no other."""
    assert after(*[fault(kind)] * (REFUSALS - 1)).refusal(request()) is None
    breaker = after(*[fault(kind)] * REFUSALS)
    found = breaker.refusal(request())
    assert found is not None
    assert found.type == kind
    assert f"openai/m at {A}" in found.message
    assert breaker.refusal(request(key="OTHER")) is None
    assert breaker.refusal(request(model="openai/other")) is None


def test_after_a_reply_only_an_empty_account_counts() -> None:
    """A gateway's 403 for one prompt after replies is not a wrong key; an account can run empty in the middle."""
    assert after(Reply(text="x"), *[fault("auth")] * 9).refusal(request()) is None
    assert after(Reply(text="x"), *[fault("quota")] * REFUSALS).refusal(request()) is not None
    assert after(*[fault("quota"), Reply(text="x")] * 9).refusal(request()) is None


def test_what_passes_never_counts() -> None:
    """Rate limits, server errors, time-outs, bad answers and our own executor's faults never end the questions."""
    known = {kind.type for kind in model_faults.TABLE.values()} - {"connection", "auth", "not_found", "quota"}
    for kind in known:
        assert after(*[fault(kind)] * 50).refusal(request()) is None
    for boundary in get_args(Boundary)[1:]:
        assert after(*[fault("connection", boundary)] * 50).refusal(request()) is None


def test_time_outs_between_say_nothing() -> None:
    """A time-out neither counts nor proves that somebody is there."""
    timeout = fault("timeout")
    assert after(*[one for error in GONE for one in (error, timeout)]).refusal(request()) is not None


def test_a_provider_without_an_address_is_named_by_its_model() -> None:
    """litellm knows the address of a big provider; the message then names the model once."""
    breaker = Breaker()
    for _ in range(REFUSALS):
        breaker.note(request(endpoint=None), fault("auth"))
    found = breaker.refusal(request(endpoint=None))
    assert found is not None
    assert found.message.startswith("gave up on openai/m after 3 refusals of the key")
