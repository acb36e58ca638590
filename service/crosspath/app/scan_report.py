"""The result of a scan, as one JSON document and as text for a person."""

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from crosspath.analysis.arrivals import HOWS, shortened, visible
from crosspath.app.scanning import PathScan, Scan, Scanned
from crosspath.escaping import escape, one_line
from crosspath.types import External

WORST = 10
_EXAMPLES = 3
_LONGEST_TO_TRY = 400
_LONGEST_SENT = 20_000
"""Characters of a text that the document repeats."""
WORST_RULE = (
    "nothing arrives first, then what is cut off or split up, then by changed characters relative to the command's length"
)


def scan_document(scan: Scan, file: str, *, worst: int = WORST, options: Sequence[str] = ()) -> dict[str, Any]:
    """The counts and the worst commands of each path. ``options``: those that name a user's own paths."""
    return {
        "source": file,
        "form": scan.commands.kind,
        "commands": scan.commands.total,
        "different": len(scan.commands.different),
        "chosen": len(scan.chosen),
        "apart": scan.commands.apart.document(),
        "interrupted": scan.interrupted,
        "worst_first": WORST_RULE,
        "paths": [_path_document(one, worst, options) for one in scan.paths],
    }


def _path_document(found: PathScan, worst: int, options: Sequence[str]) -> dict[str, Any]:
    counted = len(found.results) and found.count("same", "same words", "changed")
    changed = [one for one in found.results if one.status == "changed"]
    ordered = sorted(changed, key=lambda one: one.change.rank if one.change else (3, 0.0))
    return {
        "transport": found.path.name,
        "summary": found.path.spec.summary,
        "not_scanned": found.why_not or None,
        "commands": counted,
        "different": sum(one.status not in ("undeliverable", "unknown") for one in found.results),
        "changed": found.count("changed"),
        "changed_different": len(changed),
        "changed_percent": round(100 * found.count("changed") / counted, 1) if counted else None,
        "same_words": found.count("same words"),
        "undeliverable": _reasons(found, "undeliverable"),
        "unknown": _reasons(found, "unknown"),
        "wrapper": found.wrapper,
        "not_looked_at": list(found.unseen),
        "imitated": list(found.path.imitated),
        "in_sandbox": not found.computed,
        "how": _hows(changed),
        "worst": [_worst_document(one, found, options) for one in ordered[:worst]],
    }


def _reasons(found: PathScan, status: str) -> list[dict[str, Any]]:
    reasons = Counter[str]()
    for one in found.results:
        if one.status == status:
            reasons[one.reason] += one.command.times
    return [{"reason": reason, "count": count} for reason, count in reasons.most_common()]


def _hows(changed: Sequence[Scanned]) -> list[dict[str, Any]]:
    """Each kind of change with its commands and the most frequent pieces; one command may have several."""
    commands, pieces = Counter[str](), dict[str, Counter[str]]()
    for one in changed:
        if one.change is None:
            continue
        for how in one.change.hows:
            commands[how] += one.command.times
            own = {piece.words for piece in one.change.pieces if piece.how == how} or {one.change.said} - {""}
            pieces.setdefault(how, Counter()).update({shortened(words, 100): one.command.times for words in own})
    ordered = sorted(commands, key=lambda how: (-commands[how], HOWS.index(how)))  # pyright: ignore[reportArgumentType]
    return [
        {"how": how, "commands": commands[how], "examples": [words for words, _ in pieces[how].most_common(_EXAMPLES)]}
        for how in ordered
    ]


def _worst_document(one: Scanned, found: PathScan, options: Sequence[str]) -> dict[str, Any]:
    assert one.change is not None
    return {
        "place": one.command.place,
        "models": one.command.models,
        "times": one.command.times,
        "how": list(one.change.hows),
        "diff": one.change.diff,
        "said": one.change.said or None,
        "changed_characters": one.change.characters,
        "characters": len(one.intended),
        "sent": _exact(one.intended),
        "arrived": [_exact(text) for text in one.arrived],
        "try": _try(one, found, options),
    }


def _exact(text: str) -> str:
    """Escaped and reversible; of a very long one the beginning."""
    data = text.encode("utf-8", "surrogateescape" if _is_bytes(text) else "surrogatepass")
    shown = escape(data)
    return shown if len(shown) <= _LONGEST_SENT else shown[:_LONGEST_SENT] + f"... ({len(text)} characters)"


def _is_bytes(text: str) -> bool:
    return all("\udc80" <= character <= "\udcff" for character in text if "\ud800" <= character <= "\udfff")


def _try(one: Scanned, found: PathScan, options: Sequence[str]) -> str | None:
    """The command line that follows it hop by hop; None where its text does not fit on one, or is a tool call's."""
    text = one.command.text
    whole_reply = isinstance(found.path.carrier, External) and one.command.reply.tool_calls
    if len(text) > _LONGEST_TO_TRY or "\0" in text or whole_reply:
        return None
    return shlex.join(["crosspath", "transports", "try", *options, found.path.name, "--"]) + " " + _word(text)


def _word(text: str) -> str:
    """One word for bash, on one line."""
    if text.isprintable():
        return shlex.quote(text)
    inner = text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\t", "\\t").replace("\r", "\\r")
    return f"$'{inner}'"


def scan_text(document: dict[str, Any]) -> Iterator[str]:
    """For a person: what was read, then each path with its worst commands."""
    yield _head(document)
    yield from (f"not a command: {one['count']} x {one['reason']} ({one['examples'][0]})" for one in document["apart"])
    for path in document["paths"]:
        yield ""
        yield from _path_lines(path)
        for number, worst in enumerate(path["worst"], 1):
            yield from _worst_lines(number, worst)
    if any(path["worst"] for path in document["paths"]):
        yield ""
        yield f"worst first: {document['worst_first']}"


def head_lines(document: dict[str, Any]) -> Iterator[str]:
    """What was read, where the rest is a table."""
    yield _head(document)
    yield from (f"not a command: {one['count']} x {one['reason']} ({one['examples'][0]})" for one in document["apart"])


def _head(document: dict[str, Any]) -> str:
    some = document["chosen"] < document["different"]
    limited = f"; {document['chosen']} of them scanned, evenly spread over the file" if some else ""
    return f"{document['source']}: {document['commands']} commands, {document['different']} different{limited}"


def _path_lines(path: dict[str, Any]) -> Iterator[str]:
    yield f"{path['transport']}: {path['summary']}".removesuffix(": ")
    if path["not_scanned"]:
        yield f"  not scanned: {path['not_scanned']}"
        return
    yield f"  {counts_words(path)}"
    if path["same_words"]:
        yield f"  {path['same_words']} of the others: quoted otherwise, with the same words for a shell"
    for status, words in (("undeliverable", "can't be handed to it at all"), ("unknown", "could not be observed")):
        yield from (f"  {one['count']} {words}: {one['reason']}" for one in path[status])
    if path["wrapper"]:
        yield f"  its own text around each: {visible(path['wrapper'])}"
    yield from (f"  not looked at: {sentence}" for sentence in path["not_looked_at"])
    yield from (f"  imitated: {what}" for what in path["imitated"])
    for how in path["how"]:
        examples = "; ".join(how["examples"])
        yield f"  {how['commands']:>6}  {how['how']}" + (f": {examples}" if examples else "")


def counts_words(path: dict[str, Any]) -> str:
    """``214 of these 1000 commands arrive changed (21.4 %)``."""
    if not path["commands"]:
        return "no command could be followed"
    of = f"{path['changed']} of these {path['commands']} commands"
    return f"{of} {'arrives' if path['changed'] == 1 else 'arrive'} changed ({path['changed_percent']} %)"


def _worst_lines(number: int, worst: dict[str, Any]) -> Iterator[str]:
    models = f", {', '.join(worst['models'][:3])}" if worst["models"] else ""
    times = f", {worst['times']} times" if worst["times"] > 1 else ""
    yield f"  {number}. {worst['place']}{models}{times}: {', '.join(worst['how'])}"
    yield f"     {worst['diff']}"
    if worst["said"]:
        yield f"     it said: {shortened(one_line(worst['said']), 160)}"
    yield f"     {worst['try']}" if worst["try"] else f"     its text is too much for a command line: see {worst['place']}"


def table_rows(document: dict[str, Any]) -> Iterator[tuple[object, ...]]:
    """Path, changed, percent, the most frequent kind of change and an example; the most changed first."""
    for path in sorted(document["paths"], key=lambda one: (one["not_scanned"] is not None, -(one["changed_percent"] or 0))):
        if path["not_scanned"]:
            yield path["transport"], "not scanned", "", shortened(path["not_scanned"], 60), ""
            continue
        first = path["how"][0] if path["how"] else {"how": "", "examples": []}
        kinds = ", ".join(f"{one['how']} {one['commands']}" for one in path["how"][:3])
        yield (
            path["transport"],
            f"{path['changed']} of {path['commands']}",
            "" if path["changed_percent"] is None else f"{path['changed_percent']} %",
            kinds,
            shortened(first["examples"][0], 50) if first["examples"] else "",
        )
