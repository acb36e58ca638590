"""What the evidence of a gate has to be before anything follows from it: each check in one sentence with its numbers."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from crosspath.pipeline.gate_evidence import Evaluated
from crosspath.pipeline.gate_strength import strength_of
from crosspath.types import Control, EvidenceCheck, Lock, PolicyEvidence, Task, Text

_NAMED = 3
"""So many tasks are named at most."""
_RANK = {"none": 0, "benign": 1, "encoded": 2}


@dataclass(frozen=True)
class Side:
    """One side of a gate."""

    name: str
    """``candidate`` or ``baseline``."""
    evaluated: Evaluated
    candidates: tuple[str, ...]
    """Those that a rule is about, the gated one first."""

    @property
    def feasible(self) -> tuple[Task, ...]:
        return tuple(task for task in self.evaluated.facts.tasks if task.infeasible is None)

    @property
    def lock(self) -> Lock:
        return self.evaluated.facts.lock


def evidence_checks(asked: PolicyEvidence, candidate: Side, baseline: Side | None) -> tuple[EvidenceCheck, ...]:
    """All of them, of the candidate first; those that compare the two sides last.

    Raises:
        ValidatorError: a suite could not be carried out.
    """
    sides = [candidate] if baseline is None else [candidate, baseline]
    found = [check for side in sides for check in _of_side(asked, side)]
    found += _strength(asked, candidate)
    return (*found, *(_of_both(candidate, baseline) if baseline else ()))


def _of_side(asked: PolicyEvidence, side: Side) -> Iterator[EvidenceCheck]:
    known = side.evaluated.candidates
    for place, name in enumerate(side.candidates):
        called = side.name if not place else f"{side.name} {name}"
        if name not in known:
            shown = ", ".join(known) or "none"
            yield EvidenceCheck(name=f"{called} known", ok=False, sentence=f"there is no candidate {name!r}; there is {shown}")
            continue
        yield _control(asked, side, name, called)
        yield from _coverage(asked, side, name, called)
        yield from _suspicions(side, name, called)
        yield _suite(asked, side, name, called)
    yield from _size(asked, side)


# -- does the instrument work -------------------------------------------------------------------------------------------


def _control(asked: PolicyEvidence, side: Side, name: str, called: str) -> EvidenceCheck:
    found = side.evaluated.decomposition(name)
    if found is None:
        return EvidenceCheck(name=f"{called} control", ok=False, sentence="it was not judged, so no control says anything")
    ok, sentence = _control_holds(asked, found.control)
    if ok and found.blind and asked.control != "none":
        ok, sentence = False, "no reply passes on the reference path, so that a control that agrees proves nothing"
    return EvidenceCheck(name=f"{called} control", ok=ok, sentence=sentence)


def _control_holds(asked: PolicyEvidence, control: Control) -> tuple[bool, str]:
    reason = f": {control.reason}" if control.reason else ""
    if control.status == "broken":
        return False, f"the {control.kind} control is broken{reason}"
    if control.kind == "none" and control.status == "holds":
        return True, f"no control is needed{reason}"
    if asked.control == "none":
        return True, f"the {control.kind} control {_status(control)}{reason}; none is asked for"
    if control.status == "missing":
        return False, f"the {control.kind} control is missing{reason}; at least {asked.control} is asked for"
    if control.compared + len(control.unstable) < asked.min_coverage * control.trials:
        return False, f"the {control.kind} control was compared too rarely{reason}; {_share(asked.min_coverage)} is asked for"
    strong = _RANK[control.kind] >= _RANK[asked.control]
    beside = "" if strong else f"; at least {asked.control} is asked for"
    return strong, f"the {control.kind} control holds{reason}{beside}"


def _status(control: Control) -> str:
    return "holds" if control.status == "holds" else f"is {control.status}"


def _coverage(asked: PolicyEvidence, side: Side, name: str, called: str) -> Iterator[EvidenceCheck]:
    """Of the candidate's cells, controls left out, the one that lacks most."""
    index = side.evaluated.index
    cells = [index.rows_compared(cell) for key, cell in index.cells_of(name).items() if key != "control"]
    planned = max((len(rows) for rows in cells), default=0)
    faults = max((sum(row.passed is None for row in rows) for rows in cells), default=0)
    unstable = max((sum(row.unstable for row in rows) for rows in cells), default=0)
    scored = min((sum(row.passed is not None and not row.unstable for row in rows) for rows in cells), default=0)
    if not planned:
        yield EvidenceCheck(name=f"{called} coverage", ok=False, sentence="no trial was planned")
        return
    limits = (
        ("coverage", scored, scored >= asked.min_coverage * planned, "have a verdict", f"at least {_share(asked.min_coverage)}"),
        ("faults", faults, faults <= asked.max_faults * planned, "are lost to faults", f"at most {_share(asked.max_faults)}"),
        ("unstable", unstable, unstable <= asked.max_unstable * planned, "are unstable", f"at most {_share(asked.max_unstable)}"),
    )
    for what, number, ok, words, limit in limits:
        sentence = f"{number} of {planned} trials ({_share(number / planned)}) {words}; {limit} is asked for"
        yield EvidenceCheck(name=f"{called} {what}", ok=ok, sentence=sentence)


def _suspicions(side: Side, name: str, called: str) -> Iterator[EvidenceCheck]:
    """Public tasks that are passed more often than fresh draws of them: the model may have seen them."""
    gaps = [gap for gap in side.evaluated.judgement.partition_gaps if gap.candidate == name]
    alarms = [gap for gap in gaps if gap.alarm]
    if not gaps:
        return
    worst = alarms[0].difference.value if alarms else None
    sentence = "public tasks are passed no more often than held-out draws of them"
    if worst is not None:
        sentence = f"public tasks are passed {100 * worst:.1f} points more often than held-out draws of them: they may be known"
    yield EvidenceCheck(name=f"{called} held-out", ok=not alarms, sentence=sentence)


# -- is it enough, and hard enough --------------------------------------------------------------------------------------


def _size(asked: PolicyEvidence, side: Side) -> Iterator[EvidenceCheck]:
    tasks = side.feasible
    counts = (
        ("families", len({task.family for task in tasks}), asked.min_families, "families"),
        ("tasks", len(tasks), asked.min_tasks, "tasks that can be done"),
        ("trials", side.lock.trials, asked.min_trials, "trials a task"),
    )
    for what, number, least, words in counts:
        sentence = f"{number} {words}; at least {least} are asked for"
        yield EvidenceCheck(name=f"{side.name} {what}", ok=number >= least, sentence=sentence)
    tiers = [task.tier for task in tasks if task.tier is not None]
    if tiers:
        hostile = sum(tier > 0 for tier in tiers)
        shown = f"{hostile} of {len(tiers)} tasks ({_share(hostile / len(tiers))}) are of tier 1 to 3"
        sentence = f"{shown}; at least {_share(asked.min_hostile)} is asked for"
        yield EvidenceCheck(name=f"{side.name} hostile", ok=hostile >= asked.min_hostile * len(tiers), sentence=sentence)


def _suite(asked: PolicyEvidence, side: Side, name: str, called: str) -> EvidenceCheck:
    suite = side.evaluated.own_cell(name).validator
    ok = suite in asked.suites
    allowed = " or ".join(asked.suites)
    sentence = f"judged by {suite}" if ok else f"judged by {suite}; {allowed} is asked for"
    return EvidenceCheck(name=f"{called} suite", ok=ok, sentence=sentence)


def _strength(asked: PolicyEvidence, side: Side) -> Iterator[EvidenceCheck]:
    names = [name for name in side.candidates if name in side.evaluated.candidates]
    suites = _suites(side)
    for name in dict.fromkeys(side.evaluated.own_cell(name).validator for name in names):
        yield _strength_of(asked, side, name, suites.get(name))


def _strength_of(asked: PolicyEvidence, side: Side, name: str, suite: Text | None) -> EvidenceCheck:
    called, validator = f"suite {name}", side.evaluated.validator
    if not asked.min_mutations_rejected:
        return EvidenceCheck(name=called, ok=True, sentence="how strict it is was not asked for")
    if suite is None or validator is None:
        why = "its text is not kept" if suite is None else "no validator is at hand"
        return EvidenceCheck(name=called, ok=False, sentence=f"how strict it is can't be told: {why}")
    found = strength_of(suite, side.feasible, validator)
    if not found.changes:
        return EvidenceCheck(name=called, ok=False, sentence="it accepts no state that a task declares to be right")
    share = found.rejected / found.changes
    shown = f"it rejects {found.rejected} of {found.changes} single changes of right states ({_share(share)})"
    ok = share >= asked.min_mutations_rejected
    missed = (
        "" if ok else f"; at least {_share(asked.min_mutations_rejected)} is asked for, and it lets pass {_few(found.accepted)}"
    )
    return EvidenceCheck(name=called, ok=ok, sentence=shown + missed)


# -- can the two sides be compared ---------------------------------------------------------------------------------------


def _of_both(candidate: Side, baseline: Side) -> Iterator[EvidenceCheck]:
    yield _same_tasks(candidate.lock.tasks, baseline.lock.tasks)
    yield _same_suite(candidate, baseline)
    yield _same_reference(candidate.lock, baseline.lock)
    yield _same_toolchain(candidate.lock, baseline.lock)


def _same_tasks(ours: Mapping[str, str], theirs: Mapping[str, str]) -> EvidenceCheck:
    parts = [
        (sorted(ours.keys() - theirs.keys()), "not in the baseline"),
        (sorted(theirs.keys() - ours.keys()), "in the baseline only"),
        (sorted(task for task in ours.keys() & theirs.keys() if ours[task] != theirs[task]), "in another version"),
    ]
    wrong = [f"{len(tasks)} {words} ({_few(tasks)})" for tasks, words in parts if tasks]
    sentence = f"both sides have the same {len(ours)} tasks" if not wrong else f"the tasks differ: {', '.join(wrong)}"
    return EvidenceCheck(name="same tasks", ok=not wrong, sentence=sentence)


def _same_suite(candidate: Side, baseline: Side) -> EvidenceCheck:
    pairs = [(candidate.candidates[0], baseline.candidates[0]), *((name, name) for name in baseline.candidates[1:])]
    suites = [(_own_suite(candidate, ours), _own_suite(baseline, theirs)) for ours, theirs in pairs]
    (ours, digest), (theirs, other) = next((pair for pair in suites if pair[0] != pair[1]), suites[0])
    if ours != theirs:
        return EvidenceCheck(name="same suite", ok=False, sentence=f"judged by {ours}, the baseline by {theirs}")
    same = digest == other
    sentence = f"both are judged by {ours}" if same else f"both are judged by {ours}, in different versions"
    return EvidenceCheck(name="same suite", ok=same, sentence=sentence)


def _own_suite(side: Side, name: str) -> tuple[str, str | None]:
    if name not in side.evaluated.candidates:
        return "nothing", None
    validator = side.evaluated.own_cell(name).validator
    return validator, side.lock.suites.get(validator)


def _same_reference(ours: Lock, theirs: Lock) -> EvidenceCheck:
    texts = [
        (lock.reference, lock.contracts.get(lock.reference.contract), lock.transports.get(lock.reference.transport))
        for lock in (ours, theirs)
    ]
    same = texts[0] == texts[1]
    shown = [f"{lock.reference.contract} over {lock.reference.transport}" for lock in (ours, theirs)]
    differ = f"the reference is {shown[0]}, the baseline's {shown[1]}{' in another version' if shown[0] == shown[1] else ''}"
    sentence = f"both have the reference {shown[0]}" if same else differ
    return EvidenceCheck(name="same reference", ok=same, sentence=sentence)


def _same_toolchain(ours: Lock, theirs: Lock) -> EvidenceCheck:
    used = [*ours.earlier_toolchains, *theirs.earlier_toolchains]
    used += [one for one in (ours.toolchain, theirs.toolchain) if one is not None]
    if ours.toolchain is None or theirs.toolchain is None:
        return EvidenceCheck(name="same toolchain", ok=False, sentence="what the replies were executed with is not known of both")
    same = all(one == used[0] for one in used)
    sentence = "all replies were executed with the same programs in the same sandbox"
    if not same:
        sentence = (
            "the replies were not all executed with the same programs in the same sandbox: replay both sides in one session"
        )
    return EvidenceCheck(name="same toolchain", ok=same, sentence=sentence)


def _suites(side: Side) -> Mapping[str, Text]:
    return {suite.name: suite for suite in side.evaluated.facts.suites}


def _few(names: Sequence[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def _share(value: float) -> str:
    return f"{100 * value:.4g} %"
