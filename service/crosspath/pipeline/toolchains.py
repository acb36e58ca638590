"""What a further session finds changed below its replays: another bash is another experiment."""

from collections.abc import Iterator

from crosspath.pipeline.axes import CellFields, differences
from crosspath.pipeline.configurations import flat
from crosspath.types import Facts, FieldDifference, Lock, PlannedCell, Toolchain


def with_toolchain(facts: Facts, toolchain: Toolchain) -> Facts:
    """The facts with the toolchain of the session that begins; another one that replays ran with already is kept beside it."""
    before, earlier = facts.lock.toolchain, facts.lock.earlier_toolchains
    if before is not None and before != toolchain and before not in earlier and any(replay.execution for replay in facts.replays):
        earlier = (*earlier, before)
    return facts.model_copy(
        update={"lock": facts.lock.model_copy(update={"toolchain": toolchain, "earlier_toolchains": earlier})}
    )


def mixture(facts: Facts) -> str | None:
    """One sentence where replays ran with several toolchains."""
    now = facts.lock.toolchain
    changes = [", ".join(_changes(before, now)) for before in facts.lock.earlier_toolchains if now and before != now]
    if not changes:
        return None
    return f"Replays ran with another toolchain in an earlier session ({'; '.join(changes)}): their results are mixed."


def _changes(before: Toolchain, now: Toolchain) -> Iterator[str]:
    for name in ("sandbox", "platform", "python", "image"):
        if getattr(before, name) != getattr(now, name):
            yield f"{name} {getattr(before, name) or 'unknown'} -> {getattr(now, name) or 'unknown'}"
    for program in sorted(before.programs.keys() | now.programs.keys()):
        if before.programs.get(program) != now.programs.get(program):
            yield f"{program} {before.programs.get(program, 'missing')} -> {now.programs.get(program, 'missing')}"
    if set(before.limits_enforced) != set(now.limits_enforced):
        yield f"limits {' '.join(before.limits_enforced) or 'none'} -> {' '.join(now.limits_enforced) or 'none'}"
    if set(before.limits_missing) - set(now.limits_missing):
        yield f"not in force then: {', '.join(before.limits_missing)}"


def toolchain_fields(lock: Lock) -> dict[str, str]:
    """Everything that a replay runs with, by its dotted name: ``toolchain.programs.bash``, ``packages.crosspath``."""
    toolchain = lock.toolchain.model_dump(mode="json") if lock.toolchain else {"sandbox": None}
    return flat({"toolchain": toolchain, "packages": dict(lock.packages)})


def replayed_differences(before: tuple[Lock, PlannedCell], now: tuple[Lock, PlannedCell]) -> tuple[FieldDifference, ...]:
    """What is other below two replays of the same replies: programs, sandbox, limits, packages, and the path with its harness."""
    first, second = (CellFields({**toolchain_fields(lock), "transport.digest": cell.path}) for lock, cell in (before, now))
    return differences(first, second)
