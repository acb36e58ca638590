"""Langfuse exports: observations of type GENERATION, in the API's names or the database's, alone or below a trace."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from crosspath.logged.calls import LoggedCall
from crosspath.logged.messages import messages_of
from crosspath.logged.replies import read_response, supplemented, usage_of
from crosspath.logged.shapes import elapsed_s, fields, first, inner, is_list, items, objects, seconds, text

_NAMES = {
    "trace_id": "traceId", "parent_observation_id": "parentObservationId", "start_time": "startTime", "end_time": "endTime",
    "usage_details": "usageDetails", "provided_model_name": "model", "model_parameters": "modelParameters",
    "session_id": "sessionId", "status_message": "statusMessage", "trace_name": "traceName",
}  # fmt: skip
_STRUCTURED = ("metadata", "usageDetails", "usage", "modelParameters", "tags")


def observations(value: object) -> Iterator[dict[str, Any]]:
    """The observations in one value of an export: a page of the API, a list, a trace with its observations, or one of them."""
    if is_list(value):
        for one in items(value):
            yield from observations(one)
    elif isinstance(fields(value).get("data"), list):
        yield from observations(fields(value)["data"])
    elif isinstance(fields(value).get("observations"), list):
        trace = {name: inside for name, inside in fields(value).items() if name != "observations"}
        yield from ({"trace": trace, "traceId": trace.get("id"), **one} for one in objects(fields(value)["observations"]))
    elif fields(value):
        yield fields(value)


def is_generation(observation: Mapping[str, Any]) -> bool:
    """Whether it is a call of a model."""
    return str(observation.get("type")).upper() == "GENERATION"


def wrappers(found: Iterable[Mapping[str, Any]]) -> set[str]:
    """Ids of generations that another one stands directly below: one library logged the call of another."""
    return {str(parent) for one in found if is_generation(one) and (parent := _named(one).get("parentObservationId"))}


def langfuse_calls(observation: Mapping[str, Any], place: str) -> Iterator[LoggedCall]:
    """The calls of one generation: one for each choice of its output."""
    entry = _named(observation)
    sent, conversation = inner(entry.get("input")), text(entry.get("traceId"))
    lasted = first((elapsed_s(entry.get("startTime"), entry.get("endTime")), seconds(entry.get("latency"))))
    usage = usage_of(first((entry.get("usageDetails"), entry.get("usage"))))
    model = text(entry.get("model"))
    entry = {**entry, "input": sent, "output": _output(entry.get("output"))}
    if str(entry.get("level")).upper() == "ERROR" and not entry["output"]:
        yield LoggedCall(place, entry, problem="the call failed", conversation=conversation)
        return
    for reading in read_response(entry["output"]):
        read = supplemented(reading, latency_s=lasted, usage=usage)
        yield LoggedCall(place, entry, read.reply, read.problem, read.losses, model, messages_of(sent), conversation)


def _named(observation: Mapping[str, Any]) -> dict[str, Any]:
    """Under the API's names, with objects where an export has their JSON as text."""
    named = {_NAMES.get(name, name): value for name, value in observation.items() if value is not None or name not in _NAMES}
    named = {name: inner(value) if name in _STRUCTURED else value for name, value in named.items()}
    return named | {"metadata": {name: inner(value) for name, value in fields(named.get("metadata")).items()}}


def _output(output: object) -> object:
    """A reply that is JSON itself stays a text: of texts only what is plainly a message or response is taken apart."""
    if not isinstance(output, str):
        return output
    parsed = inner(output)
    listed = objects(parsed)
    plain = fields(parsed).keys() & {"role", "choices"} or (listed and all("role" in one for one in listed))
    return parsed if plain else output
