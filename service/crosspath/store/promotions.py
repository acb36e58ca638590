"""How an alias is moved where the registry can't compare and set at once: first an entry in a history, then the alias.

The history is only ever added to, and the store numbers its entries one after the other. That is all the exclusion there is: an
entry names the last one that it knew of, and of two that name the same one only the first counts
(:mod:`crosspath.analysis.decision_history`). Whoever is killed leaves either no entry, or one that everybody sees as
unfinished, with the alias still where it was or already where it belongs; nothing in between.

Whoever moves an alias looks at the history once more afterwards. If a later entry is in force by then (somebody took an
unfinished one for dead and rolled it back), the alias is put where that one wants it; so the last entry in force wins even
against a process that slept for an hour between its entry and its move.
"""

import re
import secrets
import shlex
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Protocol

from crosspath.analysis.decision_history import AliasHistory, history, judged, place
from crosspath.errors import ConfigError, TrackerError
from crosspath.types import Decision, DecisionState, ModelVersion, Verdict, digest

NOTHING_MOVED = "nothing was moved"
HISTORY_SUFFIX = ".decisions"
"""Of the registered model whose versions are the decisions about another one's aliases."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 _.\-]{0,99}")
_ALIAS = re.compile(r"(?!latest\Z|v\d+\Z)[A-Za-z0-9_\-]{1,100}", re.IGNORECASE)


class AliasStore(Protocol):
    """What a registry can do with aliases and with the history. Every method may raise ``TrackerError``."""

    def entries(self, model: str) -> list[Decision]:
        """All entries; ``done`` or ``withdrawn`` where :meth:`close` said so, else ``unfinished``."""
        ...

    def append(self, entry: Decision) -> None:
        """Add an entry under the next free number (its own is ignored), wholly or not at all."""
        ...

    def close(self, entry: Decision, state: DecisionState) -> None:
        """Write down how it ended."""
        ...

    def alias(self, model: str, alias: str) -> int | None:
        """Where it points to; None: nowhere."""
        ...

    def move(self, model: str, alias: str, version: int | None) -> None:
        """Point it to a version; None: take it away.

        Raises:
            ConfigError: there is no such version any more.
        """
        ...


class AliasMover:
    """Carries decisions out, one at a time for each alias."""

    def __init__(self, store: AliasStore) -> None:
        self._store = store

    def promote(self, version: ModelVersion, alias: str, expected: int | None, verdict: Verdict, run_id: str) -> Decision:
        """An entry, then the move.

        Raises:
            ConfigError: the alias is not where it was ``expected``, another decision came first, or one is unfinished.
            TrackerError: the registry failed; the message says whether anything was moved, and what to do.
        """
        require_alias(alias)
        model = version.model
        with _saying(NOTHING_MOVED):
            known = history(self._store.entries(model), alias)
            now = self._store.alias(model, alias)
        _require_settled(known, model)
        if now != expected:
            with _saying(NOTHING_MOVED):
                known = history(self._store.entries(model), alias)  # once more: it may be by a decision that was not there yet
            raise ConfigError(f"{_alias(model, alias)} {_moved(expected, now)} meanwhile, {_since(known, now)}; {NOTHING_MOVED}")
        head = known.head
        if head and head.state == "done" and head.kind == "promote" and head.to_version == now == version.version:
            return head
        entry = Decision(
            number=0,
            kind="promote",
            model=model,
            alias=alias,
            after=head.number if head else 0,
            from_version=now,
            to_version=version.version,
            verdict=verdict.id,
            verdict_digest=verdict_digest(verdict),
            verdict_run=run_id,
            decided_at=time.time(),
            state="unfinished",
            token=secrets.token_hex(8),
        )
        return self._carry_out(self._written(entry))

    def rollback(self, model: str, alias: str) -> Decision:
        """Take the last promotion back: an entry, then the move. One that was never carried out is taken back the same way.

        Raises:
            ConfigError: there is none, or the alias is elsewhere.
            TrackerError: the registry failed; the message says whether anything was moved, and what to do.
        """
        with _saying(NOTHING_MOVED):
            known = history(self._store.entries(model), alias)
            now = self._store.alias(model, alias)
        unfinished, standing = known.unfinished, known.standing
        if unfinished and unfinished.kind == "rollback":
            return self._carry_out(unfinished)
        if unfinished and now not in _places(unfinished):
            raise ConfigError(
                f"{_alias(model, alias)} was moved by hand while {entry_words(unfinished)} was unfinished: "
                f"{NOTHING_MOVED}; close it: {_finish(unfinished)}"
            )
        if standing is None:
            raise ConfigError(f"{_alias(model, alias)} has no promotion that could be taken back; {NOTHING_MOVED}")
        if standing is not unfinished and now != standing.to_version:
            raise ConfigError(
                f"{_alias(model, alias)} {_moved(standing.to_version, now)} by hand since {entry_words(standing)}: "
                f"{NOTHING_MOVED}; move it back by hand, or gate and promote anew"
            )
        entry = standing.model_copy(
            update={
                "kind": "rollback",
                "after": known.head.number if known.head else 0,
                "from_version": now,
                "to_version": standing.from_version,
                "undoes": standing.number,
                "decided_at": time.time(),
                "state": "unfinished",
                "token": secrets.token_hex(8),
            }
        )
        return self._carry_out(self._written(entry))

    def finish(self, model: str, alias: str) -> Decision:
        """Carry out the last entry in force, whoever wrote it.

        Raises:
            ConfigError: it is finished, or the alias is elsewhere.
            TrackerError: the registry failed; the message says whether anything was moved, and what to do.
        """
        with _saying(NOTHING_MOVED):
            unfinished = history(self._store.entries(model), alias).unfinished
        if unfinished is None:
            raise ConfigError(f"{_alias(model, alias)} has no unfinished decision: there is nothing to carry out")
        return self._carry_out(unfinished)

    def _written(self, entry: Decision) -> Decision:
        """Add the entry; as it stands in the history, whatever became of the answer."""
        where = f"crosspath decisions {shlex.quote(entry.model)} --alias {entry.alias}"
        with _saying(f"{NOTHING_MOVED}; whether the decision was written is shown by: {where}"):
            try:
                self._store.append(entry)
            except TrackerError:
                if not self._own(entry):
                    raise
            found = self._own(entry)
        if not found:
            raise TrackerError(
                f"the registry did not keep the decision about {_alias(entry.model, entry.alias)}; {NOTHING_MOVED}"
            )
        return found[0]

    def _own(self, entry: Decision) -> list[Decision]:
        """A request that was sent again because its answer got lost may have written it twice: the first one counts."""
        known = history(self._store.entries(entry.model), entry.alias)
        return [one for one in known.entries if one.token == entry.token]

    def _carry_out(self, entry: Decision) -> Decision:
        model, alias = entry.model, entry.alias
        with _saying(f"{NOTHING_MOVED}; {entry_words(entry)} is unfinished; {ways_out(entry)}"):
            known = history(self._store.entries(model), alias)
            now = self._store.alias(model, alias)
        mine = next((one for one in known.entries if one.number == entry.number), entry)
        if mine.state == "overtaken" or known.head != mine:
            raise ConfigError(
                f"another decision about {_alias(model, alias)} came first: {_winner(known, mine)}; {NOTHING_MOVED}"
            )
        if now not in self._expected(known, mine):
            with _saying(f"{NOTHING_MOVED}"):
                self._store.close(mine, "withdrawn")
            raise ConfigError(
                f"{_alias(model, alias)} {_moved(mine.from_version, now)} by hand meanwhile: {NOTHING_MOVED}, "
                f"{entry_words(mine)} is withdrawn"
            )
        self._move(mine, now)
        self._give_way(mine)
        with _saying(
            f"{_alias(model, alias)} {_points(mine.to_version)} now, only the history does not say so yet: {_finish(mine)}"
        ):
            self._store.close(mine, "done")
        return mine.model_copy(update={"state": "done"})

    def _expected(self, known: AliasHistory, entry: Decision) -> set[int | None]:
        """Where the alias may be: where it was, where it goes, and, of a promotion that was taken for dead, where that goes."""
        undone = next((one for one in known.entries if one.number == entry.undoes), entry)
        return _places(entry) | _places(undone)

    def _move(self, entry: Decision, now: int | None) -> None:
        if now == entry.to_version:
            return
        try:
            self._store.move(entry.model, entry.alias, entry.to_version)
        except ConfigError:  # there is no such version any more: it could never be carried out
            with _saying(NOTHING_MOVED):
                self._store.close(entry, "withdrawn")
            raise
        except TrackerError as error:
            try:
                now = self._store.alias(entry.model, entry.alias)
            except TrackerError:
                unknown = f"whether {_alias(entry.model, entry.alias)} was moved is not known, its decision is unfinished"
                raise TrackerError(f"{error}; {unknown}; {ways_out(entry)}") from error
            if now != entry.to_version:
                raise TrackerError(f"{error}; {NOTHING_MOVED}, {entry_words(entry)} is unfinished; {ways_out(entry)}") from error

    def _give_way(self, entry: Decision) -> None:
        """Put the alias where a later entry wants it, if there is one by now.

        Raises:
            ConfigError: there was one.
        """
        later, target = None, entry.to_version
        with _saying(f"{_alias(entry.model, entry.alias)} {_points(entry.to_version)} now; {_finish(entry)} looks once more"):
            while True:
                known = history(self._store.entries(entry.model), entry.alias)
                head = known.head
                if head is None or head.number == (later or entry).number:
                    break
                later, target = head, place(known)
                self._store.move(entry.model, entry.alias, target)
        if later:
            raise ConfigError(
                f"{entry_words(entry)} was overtaken by {entry_words(later)} while it was carried out; "
                f"{_alias(entry.model, entry.alias)} {_points(target)}"
            )


def in_order(entries: Iterable[Decision], alias: str | None) -> tuple[Decision, ...]:
    """The history as it is shown: each entry with its state; None: those of all aliases."""
    return tuple(one for one in judged(entries) if alias in (None, one.alias))


def require_model_name(name: str) -> None:
    """Refuse what MLflow or its filters can't hold, and names that look like a history.

    Raises:
        ConfigError: it is no name for a registered model.
    """
    if not _NAME.fullmatch(name):
        raise ConfigError(f"{name!r} is no name for a model: letters, digits, spaces and . _ - up to 100", field="model")
    if name.endswith(HISTORY_SUFFIX):
        raise ConfigError(f"{name!r} is the history of {name.removesuffix(HISTORY_SUFFIX)!r}: name the model", field="model")


def require_alias(alias: str) -> None:
    """Refuse what MLflow does not take for an alias.

    Raises:
        ConfigError: it is no alias.
    """
    if not _ALIAS.fullmatch(alias):
        raise ConfigError(f"{alias!r} is no alias: letters, digits, _ and -; `latest` and v1, v2, ... are taken", field="alias")


def verdict_digest(verdict: Verdict) -> str:
    """What a decision keeps of the verdict that it rests on."""
    return digest(verdict.model_dump(mode="json"))


# -- words -----------------------------------------------------------------------------------------------------------------


def entry_words(entry: Decision) -> str:
    """``decision 3 (promote, version 4 to 5, gate-...)``."""
    what = f"{entry.kind}, {version_words(entry.from_version)} to {version_words(entry.to_version)}"
    return f"decision {entry.number} ({what}, {entry.verdict})"


def version_words(version: int | None) -> str:
    """``version 4``, or that there is none."""
    return "no version" if version is None else f"version {version}"


def ways_out(entry: Decision) -> str:
    """What to type where an entry was left unfinished."""
    back = f", or take it back: crosspath rollback {shlex.quote(entry.model)} {entry.alias}" if entry.kind == "promote" else ""
    return f"carry it out: {_finish(entry)}{back}"


def _finish(entry: Decision) -> str:
    return f"crosspath promote {shlex.quote(entry.model)} {entry.alias} --finish"


def _places(entry: Decision) -> set[int | None]:
    return {entry.from_version, entry.to_version}


def _require_settled(known: AliasHistory, model: str) -> None:
    if open_ := known.unfinished:
        raise ConfigError(
            f"{entry_words(open_)} about {_alias(model, open_.alias)} is unfinished: another gate is at work, or was killed; "
            f"{NOTHING_MOVED}; {ways_out(open_)}"
        )


def _winner(known: AliasHistory, mine: Decision) -> str:
    first = next((one for one in known.entries if one.state != "overtaken" and one.number > mine.after and one != mine), None)
    return entry_words(first) if first else "its entry is gone"


def _since(known: AliasHistory, now: int | None) -> str:
    head = known.head
    return f"by {entry_words(head)}" if head and head.to_version == now else "by hand"


def _alias(model: str, alias: str) -> str:
    return f"{model}@{alias}"


def _points(version: int | None) -> str:
    return "is gone" if version is None else f"points to version {version}"


def _moved(before: int | None, now: int | None) -> str:
    return f"was moved from {version_words(before)} to {version_words(now)}"


@contextmanager
def _saying(what: str) -> Iterator[None]:
    """A failure of the registry, with what it means."""
    try:
        yield
    except TrackerError as error:
        raise TrackerError(f"{error}; {what}") from error
