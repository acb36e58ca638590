"""When to stop asking an endpoint: nobody is there, or it will not serve this key or model, however often it is asked.

Only what an endpoint did before it gave any reply counts (and an exhausted quota, which may also come later). Rate limits,
time-outs and server errors never do: they pass, and a retry is the answer to them. What a reply says plays no part.
"""

from collections import Counter
from dataclasses import dataclass

from crosspath.types import Fault, Reply, Request

CONNECTION_ERRORS = 5
"""So many attempts in a row, the first ones at an endpoint, must find nobody there."""
REFUSALS = 3
"""So many attempts in a row must be refused for the key, the model's name or the account."""
_LIMITS = {"connection": CONNECTION_ERRORS, "auth": REFUSALS, "not_found": REFUSALS, "quota": REFUSALS}
_WORDS = {
    "connection": "connection errors",
    "auth": "refusals of the key",
    "not_found": "answers that there is no such model or address",
    "quota": "answers that the account is exhausted",
}
_LATER_TOO = ("quota",)
"""Kinds that also count after a reply: an account runs empty in the middle of an evaluation."""


@dataclass(frozen=True)
class _Place:
    """What a kind of fault says something about: everything at an address, or one model there with one key."""

    address: str
    model: str = ""
    key: str | None = None


class Breaker:
    """Shared by all requests of one session; a new start of the program asks anew."""

    def __init__(self) -> None:
        self._in_a_row: Counter[tuple[_Place, str]] = Counter()
        self._served: set[_Place] = set()
        self._given_up: dict[_Place, Fault] = {}

    def refusal(self, request: Request) -> Fault | None:
        """The fault of a request that is not worth sending; None: send it."""
        return next((self._given_up[place] for place in _places(request) if place in self._given_up), None)

    def note(self, request: Request, outcome: Reply | Fault) -> None:
        """Learn from one attempt."""
        if isinstance(outcome, Fault) and (outcome.boundary != "model" or outcome.type == "timeout"):
            return  # says nothing about who is there
        address, one_model = _places(request)
        for kind, limit in _LIMITS.items():
            place = address if kind == "connection" else one_model
            if isinstance(outcome, Fault) and outcome.type == kind:
                self._count(place, kind, limit, outcome)
            else:
                del self._in_a_row[place, kind]
        if isinstance(outcome, Reply):
            self._served.add(one_model)
        if isinstance(outcome, Reply) or outcome.type != "connection":
            self._served.add(address)

    def _count(self, place: _Place, kind: str, limit: int, fault: Fault) -> None:
        self._in_a_row[place, kind] += 1
        if self._in_a_row[place, kind] < limit or (place in self._served and kind not in _LATER_TOO):
            return
        what = f"{place.model} at {place.address}" if place.model not in ("", place.address) else place.address
        message = f"gave up on {what} after {limit} {_WORDS[kind]}; the last: {fault.message}"
        self._given_up.setdefault(place, Fault(boundary="model", type=kind, message=message))


def _places(request: Request) -> tuple[_Place, _Place]:
    address = request.endpoint or request.model
    return _Place(address), _Place(address, request.model, request.api_key_env)
