"""What MLflow accepts: names, lengths and batch sizes, checked before anything is sent.

MLflow cuts long values silently (params at 6,000 characters), loses a whole batch over one clashing param and stores infinity as
the largest float; so every value passes through here first. Nothing in this module imports MLflow.
"""

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from crosspath.errors import TrackerError
from crosspath.escaping import one_line

MAX_PARAM = 6_000
MAX_TAG = 8_000
MAX_NAME = 250
MAX_BATCH = 100
"""Params or tags in one call."""
MAX_METRICS = 100
"""Metrics of one run, which MLflow shows as a list to scroll and search. A usual matched run has 60 to 75, a reference run 25;
only one with every cause, several trials, tasks that can't be done, held-out tasks and several styles at once comes near it."""
MAX_PROMPT = 100_000
NOTE_TAG = "mlflow.note.content"
"""The tag that MLflow shows as the run's description."""
UNSET = "unset"

T = TypeVar("T")
_NAME = re.compile(r"[A-Za-z0-9_\-./: ]+")


def clean_name(text: str) -> str:
    """``text`` with every character that MLflow refuses in a name replaced by ``_``."""
    return re.sub(r"[^A-Za-z0-9_\-./: ]", "_", text)[:MAX_NAME] or "_"


def prompt_name(contract: str) -> str:
    """Name of a contract in the prompt registry, which knows letters, digits, ``-``, ``_`` and ``.`` only."""
    return "contract-" + re.sub(r"[^A-Za-z0-9_\-.]", "_", contract)[:200]


def prompt_tags(told: Iterable[str], prompts: Mapping[str, tuple[str, int]]) -> dict[str, str]:
    """Links from a run to the registered contracts that its model was told: in MLflow's own form, and as a readable tag."""
    linked = [prompts[contract] for contract in told if contract in prompts]
    if not linked:
        return {}
    own = json.dumps([{"name": name, "version": str(version)} for name, version in linked])
    return {"mlflow.linkedPrompts": own, "contract.prompt": ", ".join(f"prompts:/{name}/{version}" for name, version in linked)}


def shown(text: str) -> str:
    """Text that every MLflow store can hold: lone surrogates and NUL as escapes."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8").replace("\0", "\\x00")


def value_text(value: object) -> str:
    """A configuration value as a param: None is ``unset``, structures are JSON."""
    if value is None:
        return UNSET
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (str, int, float)):
        return shown(str(value)) or "(empty)"
    return shown(json.dumps(value, ensure_ascii=False, sort_keys=True, default=str))


def flatten(value: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, object]]:
    """Nested mappings as dotted names; an empty mapping is left out."""
    for key, inner in value.items():
        name = f"{prefix}{clean_name(key)}"
        if isinstance(inner, Mapping):
            yield from flatten(inner, f"{name}.")  # pyright: ignore[reportUnknownArgumentType]
        else:
            yield name, inner


def finite(metrics: Mapping[str, float | int | None]) -> dict[str, float]:
    """The metrics that are known, to four decimals or three digits (exact in the bundle); an unknown one is left out."""
    known = {name: number for name, value in metrics.items() if (number := _as_float(value)) is not None}
    return {name: _rounded(number) for name, number in known.items() if math.isfinite(number)}


def _rounded(number: float) -> float:
    """Small ones, such as what a right answer costs in USD, keep three digits."""
    return round(number, 4) if abs(number) >= 0.01 else float(f"{number:.3g}")


def _as_float(value: float | int | None) -> float | None:
    try:
        return None if value is None else float(value)
    except OverflowError:  # an integer beyond any float: as good as infinite
        return None


def chunks(items: Sequence[T], size: int = MAX_BATCH) -> Iterator[Sequence[T]]:
    """``items`` in batches that MLflow accepts in one call."""
    for start in range(0, len(items), size):
        yield items[start : start + size]


def fit_name(text: str) -> str:
    """A run's name; one that is too long ends with an ellipsis, and the whole of it is in the tags."""
    text = one_line(text)
    return text if len(text) <= MAX_NAME else text[: MAX_NAME - 1] + "\N{HORIZONTAL ELLIPSIS}"


def fit_note(text: str, rest: str) -> str:
    """A description that fits into MLflow's tag; if lines had to go, the last one says that ``rest`` holds the whole text."""
    text = "\n".join(_with_room(line) if line.startswith("| ") else line for line in shown(text).split("\n"))
    if len(text) <= MAX_TAG:
        return text
    ending = f"\n\n*Shortened: the whole text is in the artifact `{rest}`.*\n"
    return text[: MAX_TAG - len(ending)].rsplit("\n", 1)[0] + ending


def _with_room(line: str) -> str:
    """A table's line with room between its columns: MLflow shows descriptions without any, so that numbers run together. An
    entity, because blanks of any kind are trimmed.
    """
    return re.sub(r"(?<!\\) \| (?=\S)(?!---)", " |&ensp;", line)


def check_run(name: str, params: Mapping[str, str], metrics: Mapping[str, float], tags: Mapping[str, str]) -> None:
    """Refuse what MLflow would refuse or silently change.

    Raises:
        TrackerError: a name or value that MLflow can't hold as it is; the message names it.
    """
    for kind, values, longest in (("param", params, MAX_PARAM), ("tag", tags, MAX_TAG)):
        for key, value in values.items():
            _check_name(name, kind, key)
            if len(value) > longest:
                raise TrackerError(f"run {name!r}: {kind} {key} has {len(value)} characters, MLflow keeps {longest}")
    for key, number in metrics.items():
        _check_name(name, "metric", key)
        if not math.isfinite(number):
            raise TrackerError(f"run {name!r}: metric {key} is {number}; unknown values are left out, never logged")
    if len(metrics) > MAX_METRICS:
        raise TrackerError(f"run {name!r}: {len(metrics)} metrics, more than the {MAX_METRICS} that can be compared")


def _check_name(run: str, kind: str, key: str) -> None:
    if not _NAME.fullmatch(key) or len(key) > MAX_NAME:
        raise TrackerError(f"run {run!r}: {kind} {key!r} is not a name that MLflow accepts")
