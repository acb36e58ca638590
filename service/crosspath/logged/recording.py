"""A recorded reply as a line of the exchange format: the inverse of ``tasks.recordings``."""

import json
from typing import Any

from crosspath.types.recorded import RecordedReply


def recorded_line(recorded: RecordedReply) -> str:
    """One line of JSON in ASCII, without what is not known and without defaults; a lone surrogate survives as ``\\ud800``."""
    reply = recorded.reply
    fields: dict[str, Any] = {
        "model": recorded.model,
        "task": recorded.task,
        "contract": recorded.contract,
        "trial": recorded.trial,
        "turn": recorded.turn,
        "reply": reply.text,
        "tool_calls": [call.model_dump() for call in reply.tool_calls] or None,
        "fidelity": None if reply.fidelity == "raw" else reply.fidelity,
        "finish_reason": reply.finish_reason,
        "usage": {name: value for name, value in reply.usage if value is not None} if reply.usage else None,
        "latency_s": reply.latency_s,
        "served_model": reply.served_model,
        "fingerprint": reply.fingerprint,
        "messages": list(recorded.messages) or None,
    }
    known = {name: value for name, value in fields.items() if value is not None}
    silent = {"reply": None} if reply.text is None and not reply.tool_calls else {}
    # DEL is the one control character that JSON leaves as it is; a terminal would not.
    return json.dumps(known | silent, ensure_ascii=True, allow_nan=False).replace("\x7f", "\\u007f")
