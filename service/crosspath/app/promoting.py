"""Registered models: candidates become versions, and an alias moves on a PASS verdict only, by decisions that are kept."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from crosspath.app import adapters
from crosspath.app.finding import find_head, looks_like_a_run, require_store
from crosspath.errors import ConfigError
from crosspath.ports import Registry
from crosspath.store.ledger import Ledger
from crosspath.store.promotions import NOTHING_MOVED, entry_words, require_alias, require_model_name, version_words, ways_out
from crosspath.types import Decision, ModelVersion, Verdict

NOW: Literal["now"] = "now"
IGNORED = {
    "commit": "Crosspath's own code measures; it is not what is deployed",
    "dirty": "the same",
    "packages": "libraries of the process that evaluated, not of what is deployed",
    "toolchain": "where replays ran; the gate replays both sides anew in one sandbox, and its verdict keeps which",
    "spec.digest": "covers the other candidates and the limits, too; each field of this candidate is compared by itself",
    "lock.digest": "the same",
    "kind": "what the evaluation as a whole may say, not what this candidate is",
    "trials": "how much evidence there is: the policy judges that",
    "model.api_key_env": "names where a key is, which differs from machine to machine",
    "model.prices": "what the replies are booked at, not what they are",
}
"""Fields (or what stands before the dot of theirs) in which a version and the evidence may differ, and why."""
MOST_FIELDS = 4
"""So many differing fields are named at most."""


def register(
    registry: Registry, evaluation: str, candidate: str | None, model: str, *, store: str | Path | None = None
) -> ModelVersion:
    """Make a candidate of a logged evaluation a version of a registered model; the same one again is the same version.

    Args:
        registry: where the model is, or will be.
        evaluation: an id in the ledger, ``latest``, or an MLflow run.
        candidate: may be left out where there is only one.
        model: name of the registered model.
        store: directory of the ledger.

    Raises:
        ConfigError: no such evaluation or candidate, or it was not logged.
        TrackerError: the server can't be reached, or does not hold the evaluation.
    """
    require_model_name(model)
    directory = adapters.store_directory(store)
    require_store(directory, evaluation)
    if looks_like_a_run(evaluation) and not directory.exists():
        return registry.register(evaluation, _one_of((), candidate, evaluation), model)
    with closing(Ledger(directory, reading=True)) as ledger:
        head = find_head(ledger, evaluation)
        if head is None and looks_like_a_run(evaluation):
            return registry.register(evaluation, _one_of((), candidate, evaluation), model)
        facts = ledger.facts(head.id if head else evaluation)
    if facts.head.mlflow_run is None:
        raise ConfigError(f"{facts.head.id} is not in MLflow yet: crosspath log {facts.head.id}", field="evaluation")
    chosen = _one_of([one.name for one in facts.lock.candidates], candidate, facts.head.id)
    return registry.register(facts.head.mlflow_run, chosen, model)


def _one_of(names: Sequence[str], candidate: str | None, evaluation: str) -> str:
    if candidate is None and len(names) == 1:
        return names[0]
    if candidate is None:
        known = f" of: {', '.join(names)}" if names else ""
        raise ConfigError(f"say which candidate of {evaluation}{known}", field="--candidate")
    if names and candidate not in names:
        raise ConfigError(f"{evaluation} has no candidate {candidate!r}; there: {', '.join(names)}", field="--candidate")
    return candidate


def alias_version(registry: Registry, model: str, alias: str) -> int | None:
    """Version that an alias points to; None: there is no such alias (or model) yet.

    A gate asks this before it starts, and gives the answer to :func:`promote`: who moves the alias meanwhile is not overrun.

    Raises:
        ConfigError: one of the names is none.
        TrackerError: the server can't be reached.
    """
    require_alias(alias)
    return registry.aliases(model).get(alias)


def require_promotable(registry: Registry, model: str, alias: str) -> int | None:
    """The same, and that nothing stands in the way: a gate asks this before it spends minutes.

    Raises:
        ConfigError: an earlier decision about the alias is unfinished.
        TrackerError: the server can't be reached.
    """
    place = alias_version(registry, model, alias)
    if open_ := unfinished(registry.decisions(model, alias)):
        raise ConfigError(f"{entry_words(open_[0])} about {model}@{alias} is unfinished; {ways_out(open_[0])}", field="--promote")
    return place


def promote(
    registry: Registry, verdict: Verdict, run_id: str, model: str, alias: str, expected: int | Literal["now"] | None = NOW
) -> Decision:
    """Move ``alias`` to the version of ``model`` that the verdict is about.

    Args:
        registry: where the model is.
        verdict: must be PASS.
        run_id: MLflow run of the verdict.
        model: name of the registered model.
        alias: it is created where it doesn't exist.
        expected: what :func:`alias_version` said when the gate started.

    Raises:
        ConfigError: not PASS, no version of this configuration, or the alias was moved meanwhile; nothing was moved.
        TrackerError: the server can't be reached; the message says whether anything was moved.
    """
    if verdict.status != "PASS":
        raise ConfigError(f"the verdict is {verdict.status}: only a PASS is promoted; {NOTHING_MOVED}")
    version = version_of(registry, verdict, model)
    place = alias_version(registry, model, alias) if expected == NOW else expected
    return registry.promote(version, alias, place, verdict, run_id)


def version_of(registry: Registry, verdict: Verdict, model: str) -> ModelVersion:
    """The version of ``model`` that the verdict's evidence stands for: registered from that very evaluation, or else the newest
    one of the same configuration.

    Raises:
        ConfigError: there is none, or its configuration is another one by now; the message names the fields.
    """
    side = verdict.candidate
    known = registry.versions(model)
    own = [one for one in known if (one.evaluation, one.candidate) == (side.evaluation, side.candidate)]
    own = [one for one in own if one.evaluation_run == side.run] or own
    if equal := [one for one in own or known if not differing(one.configuration, side.configuration)]:
        return equal[-1]
    todo = f"crosspath register {side.evaluation} --candidate {_quoted(side.candidate)} --model {_quoted(model)}"
    if not known:
        raise ConfigError(f"{model} has no version yet; {NOTHING_MOVED}; first: {todo}", field="--model")
    closest = (own or known)[-1]
    fields = differing(closest.configuration, side.configuration)
    raise ConfigError(
        f"version {closest.version} of {model} is not what was gated: {_differences(closest, side.configuration, fields)}; "
        f"{NOTHING_MOVED}" + ("" if own else f"; if the gated one is to be released: {todo}"),
        field="--model",
    )


def differing(registered: Mapping[str, str], evidence: Mapping[str, str]) -> list[str]:
    """Fields in which two configurations differ, but for those of ``IGNORED``; a missing field is a difference."""
    ours, theirs = _kept(registered), _kept(evidence)
    return sorted(name for name in ours.keys() | theirs.keys() if ours.get(name) != theirs.get(name) and _matters(name))


def _matters(name: str) -> bool:
    return not any(name == one or name.startswith(f"{one}.") for one in IGNORED)


def _kept(configuration: Mapping[str, str]) -> dict[str, str]:
    """As every store can hold it: what was stored is compared with what was not."""
    return {_text(name)[:250]: _text(value) for name, value in configuration.items()}


def _text(value: str) -> str:
    return value.encode("utf-8", "backslashreplace").decode("utf-8").replace("\0", "\\x00")


def _differences(version: ModelVersion, evidence: Mapping[str, str], fields: Sequence[str]) -> str:
    """``transport is a there and b in the evidence, ...``."""
    ours, theirs = _kept(version.configuration), _kept(evidence)
    words = [f"{one} is {_short(ours.get(one))} there and {_short(theirs.get(one))} in the evidence" for one in fields]
    more = f", and {len(words) - MOST_FIELDS} more" if len(words) > MOST_FIELDS else ""
    return ", ".join(words[:MOST_FIELDS]) + more


def _short(value: str | None) -> str:
    if value is None:
        return "missing"
    return value if len(value) <= 60 else f"{value[:24]}...{value[-24:]}"


def _quoted(name: str) -> str:
    return name if name.replace("-", "").replace("_", "").replace(".", "").isalnum() else f"'{name}'"


# -- the history -----------------------------------------------------------------------------------------------------------


def unfinished(entries: Sequence[Decision]) -> list[Decision]:
    """For each alias the last entry in force, where nobody saw its end."""
    last = {one.alias: one for one in entries if one.state != "overtaken"}
    return [one for one in last.values() if one.state == "unfinished"]


def history_rows(entries: Sequence[Decision]) -> list[tuple[str, ...]]:
    """One row for each entry, oldest first. Only a rollback can follow what was left unfinished."""
    open_ = unfinished(entries)
    return [
        (
            str(one.number),
            f"{datetime.fromtimestamp(one.decided_at, UTC):%Y-%m-%d %H:%M:%S}",
            one.alias,
            f"{one.kind} of {one.undoes}" if one.undoes else one.kind,
            version_words(one.from_version),
            version_words(one.to_version),
            "taken back" if one.state == "unfinished" and one not in open_ else one.state,
            one.verdict,
            one.verdict_run,
        )
        for one in entries
    ]


HISTORY_COLUMNS = ("no.", "when (UTC)", "alias", "what", "from", "to", "state", "verdict", "its run")


def history_remarks(model: str, entries: Sequence[Decision], aliases: Mapping[str, int]) -> list[str]:
    """What a person has to know beside the table: where each alias is, and what to do where that is not what the history says."""
    words: list[str] = []
    open_ = {one.alias: one for one in unfinished(entries)}
    for alias in dict.fromkeys([*(one.alias for one in entries), *aliases]):
        now = aliases.get(alias)
        line = f"{model}@{alias} is {version_words(now)} now"
        if entry := open_.get(alias):
            line += f"; {entry_words(entry)} is unfinished (at work, or killed): {ways_out(entry)}"
        elif (last := _last(entries, alias)) and last.to_version != now:
            line += f", moved by hand: by decision {last.number} it would be {version_words(last.to_version)}"
        words.append(line)
    return words


def _last(entries: Sequence[Decision], alias: str) -> Decision | None:
    done = [one for one in entries if one.alias == alias and one.state == "done"]
    return done[-1] if done else None


def history_document(model: str, entries: Sequence[Decision], aliases: Mapping[str, int]) -> dict[str, Any]:
    """The same as a JSON document."""
    return {
        "model": model,
        "aliases": dict(aliases),
        "decisions": [one.model_dump(mode="json", exclude={"token"}) for one in entries],
        "remarks": history_remarks(model, entries, aliases),
    }
