"""What stopped a trial, in words that fit behind a number: ``8 wrong state, 2 truncated, 1 fault (rate_limit)``."""

from collections.abc import Mapping

from crosspath.analysis.alarms import ALARM_WORDS

_OTHERS = {
    "unknown": "wrong exit status",
    "fault:not_done": "not done",
    **{str(kind): words for kind, words in ALARM_WORDS.items()},
}
_SAME_NAME = "timeout"
"""A cause and an alarm have this name; it is said as the cause."""
_FAULT = "fault:"


def cause_words(cause: str) -> str:
    """A ``Cause``, ``fault:TYPE``, ``AlarmKind``, ``unstable`` or ``unknown`` in words: mostly the vocabulary's own."""
    if cause in _OTHERS and cause != _SAME_NAME:
        return _OTHERS[cause]
    return f"fault ({cause.removeprefix(_FAULT)})" if cause.startswith(_FAULT) else cause.replace("_", " ")


def causes_counted(causes: Mapping[str, int], most: int | None = None) -> str:
    """``8 wrong state, 2 truncated``: most frequent first; beyond ``most`` kinds the rest is counted together."""
    ranked = sorted(causes.items(), key=lambda item: (-item[1], item[0]))
    shown = [f"{count} {cause_words(cause)}" for cause, count in ranked[:most]]
    rest = sum(count for _, count in ranked[len(shown) :])
    return ", ".join([*shown, *([f"{rest} of other causes"] if rest else [])])
