"""Which entries of a model's history of decisions count: a pure fold, so that everybody who reads it comes to the same end.

An entry is written with the number of the last entry that it knew of. It is in force only if no other entry of the same alias
came between; of two that are written at once, the one that the store numbered first is.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from crosspath.types import Decision


@dataclass(frozen=True)
class AliasHistory:
    """The history of one alias, oldest first, with the state of each entry."""

    entries: tuple[Decision, ...]

    @property
    def head(self) -> Decision | None:
        """The last entry in force."""
        return next((one for one in reversed(self.entries) if one.state != "overtaken"), None)

    @property
    def unfinished(self) -> Decision | None:
        """The last entry in force, if nobody saw its end."""
        return self.head if self.head and self.head.state == "unfinished" else None

    @property
    def standing(self) -> Decision | None:
        """The last promotion in force that was not taken back."""
        standing = _standing(self.entries)
        return standing[-1] if standing else None


def history(entries: Iterable[Decision], alias: str) -> AliasHistory:
    """The entries of ``alias``; those that another one came before are ``overtaken``, whatever they say of themselves."""
    own = sorted((one for one in entries if one.alias == alias), key=lambda one: one.number)
    judged: list[Decision] = []
    head = 0
    for one in own:
        # Not "equal": where somebody has deleted the entry that it knew of, nothing came between either.
        if head <= one.after < one.number:
            head = one.number
            judged.append(one)
        else:
            judged.append(one.model_copy(update={"state": "overtaken"}))
    return AliasHistory(tuple(judged))


def place(known: AliasHistory) -> int | None:
    """Where the alias belongs by its history: where the last entry goes that was not withdrawn; None: nowhere."""
    counting = [one for one in known.entries if one.state in ("done", "unfinished")]
    return counting[-1].to_version if counting else None


def judged(entries: Iterable[Decision]) -> tuple[Decision, ...]:
    """The entries of all aliases in the order of their numbers, each with its state."""
    known = list(entries)
    aliases = {one.alias for one in known}
    return tuple(sorted((one for alias in aliases for one in history(known, alias).entries), key=lambda one: one.number))


def _standing(entries: Sequence[Decision]) -> list[Decision]:
    standing: list[Decision] = []
    for one in entries:
        if one.kind == "promote" and one.state in ("done", "unfinished"):
            standing.append(one)
        elif one.kind == "rollback" and one.state in ("done", "unfinished"):
            standing = [other for other in standing if other.number != one.undoes]
    return standing
