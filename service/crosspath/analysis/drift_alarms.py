"""What a look at a deployment comes to, in sentences that a person can act on: cause, fields or tasks, size, and the next step.

Names, values and tasks are foreign: each is shown on one line and cut; whoever prints a sentence escapes it for its own form.
"""

from collections.abc import Iterable, Iterator, Sequence

from crosspath.analysis.drift_naming import as_word, field_words, listed, named_value, signal_value, task_counts
from crosspath.analysis.drift_programs import program_change, telling
from crosspath.analysis.drift_signals import LATENCY_DEPENDS
from crosspath.analysis.drift_steps import (
    NEW_REFERENCE,
    Look,
    to_date,
    to_execute,
    to_measure,
    to_measure_today,
    to_settle,
)
from crosspath.analysis.wording import percent, points
from crosspath.dates import day_of
from crosspath.escaping import one_line
from crosspath.types.drift import (
    Alarm,
    ConfigurationChange,
    ConfigurationDrift,
    DriftCause,
    ProviderDrift,
    Signal,
    ToolchainDrift,
)
from crosspath.types.explaining import FieldDifference
from crosspath.types.results import Estimate

_LEVELS = ("alarm", "unmeasured", "notice")
_CAUSES = ("configuration", "toolchain", "provider")
_NO_NEWS = ("commit", "dirty")
"""Whose code is committed says nothing of what is deployed."""
_MOST_PROGRAMS = 2
"""So many stand in a sentence; the table has all of them."""


def alarms(
    configuration: ConfigurationDrift, toolchain: ToolchainDrift, provider: ProviderDrift, deployment: str, newest: str = ""
) -> tuple[Alarm, ...]:
    """All alarms of one look, those to act on first standing first: drift, then what has no answer, then what did nothing yet.

    Within a level a changed configuration stands before the toolchain and the provider: across it the others say less.
    """
    look = Look(configuration, toolchain, provider, one_line(deployment), newest)
    found = [*_configuration(look), *_toolchain(look), *_provider(look)]
    return tuple(sorted(found, key=lambda alarm: (_LEVELS.index(alarm.level), _CAUSES.index(alarm.cause))))


# -- configuration -------------------------------------------------------------------------------------------------------


def _configuration(look: Look) -> Iterator[Alarm]:
    part = look.configuration
    if part.status == "drift":
        yield _broken(look)
    elif part.status != "no drift":
        yield _unmeasured("configuration", part, to_date(look))
    if part.edited_tasks and part.status != "drift":
        tasks = listed(part.edited_tasks)
        yield Alarm(
            cause="configuration",
            level="notice",
            sentence=f"configuration: {task_counts(part.edited_tasks)} of {look.deployment} edited since {look.reference} and"
            f" set apart: {tasks}",
            next_step=f"measure a new reference that has them: {NEW_REFERENCE}",
            tasks=part.edited_tasks,
        )
    if idle := _idle(look):
        yield Alarm(
            cause="configuration",
            level="notice",
            sentence=f"configuration: {_dated([one.difference for one in idle], idle)} changed; no score depends on it",
            next_step="nothing has to be done",
            fields=tuple(one.difference.field for one in idle),
        )


def _broken(look: Look) -> Alarm:
    part = look.configuration
    fields = tuple(one.field for one in part.breaking)
    count = f"{len(fields)} field{'s' * (len(fields) != 1)} of {look.deployment} changed since {look.reference}"
    changed = f"{count}: {_dated(part.breaking, part.timeline)}" if fields else one_line(part.sentence).rstrip(".")
    edited = f"; {task_counts(part.edited_tasks)} edited: {listed(part.edited_tasks)}" if part.edited_tasks else ""
    return Alarm(
        cause="configuration",
        level="alarm",
        sentence=f"configuration: {changed}{edited}: a difference of scores across it is no change of the provider's",
        next_step=f"change it back, or measure what is deployed now with enough trials and gate that: {look.regate}",
        fields=fields,
        tasks=part.edited_tasks,
    )


def _idle(look: Look) -> list[ConfigurationChange]:
    """What changed with the newest evaluation and matters to nothing. Edited tasks have a notice of their own, and a day has
    other trials than its reference anyway."""
    changed = (one for one in look.configuration.timeline if one.bearing == "none" and one.evaluation == look.newest)
    return [one for one in changed if one.difference.axis != "tasks" and one.difference.field not in _NO_NEWS]


def _dated(differences: Sequence[FieldDifference], timeline: Sequence[ConfigurationChange]) -> str:
    """``contract.digest (0c91f2 -> 77ab01, seen on 2026-11-20), ... and 2 more``."""
    return listed([_one_dated(one, timeline) for one in differences])


def _one_dated(difference: FieldDifference, timeline: Sequence[ConfigurationChange]) -> str:
    last = next((one for one in reversed(timeline) if one.difference.field == difference.field), None)
    seen = f", seen on {day_of(last.at)}" if last else ""
    return field_words(difference, seen)


# -- toolchain -----------------------------------------------------------------------------------------------------------


def _toolchain(look: Look) -> Iterator[Alarm]:
    part = look.toolchain
    if part.status == "drift":
        yield _flipped(look)
    elif part.status != "no drift":
        yield _unmeasured("toolchain", part, to_execute(look))
    elif part.changed:
        yield Alarm(
            cause="toolchain",
            level="notice",
            sentence=f"toolchain: {_changed(part)} changed, and none of {part.compared} frozen replies comes out otherwise",
            next_step="nothing has to be done",
            fields=tuple(one.field for one in part.changed),
        )
    yield from _toolchain_notices(part)


def _flipped(look: Look) -> Alarm:
    part, tasks = look.toolchain, look.toolchain.flipped_tasks
    counted = [f"{task} ({sum(flip.task == task for flip in part.flips)})" for task in map(one_line, tasks)]
    lost = sum(flip.passed_before and not flip.passed_now for flip in part.flips)
    won = len(part.flips) - lost
    ways = " and ".join(f"{count} {words}" for count, words in ((lost, "fail now"), (won, "pass now")) if count)
    programs = f" ({_changed(part)})" if part.changed else ""
    image = f"go back to the programs of {one_line(part.frozen)}, or " if part.changed else ""
    return Alarm(
        cause="toolchain",
        level="alarm",
        sentence=f"toolchain: {len(part.flips)} of {part.compared} frozen replies of {look.deployment} come out otherwise with"
        f" today's programs{programs}, {ways}; no reply was asked for; {task_counts(tasks)}: {listed(counted)}",
        next_step=f"{image}look at what came out (crosspath show {as_word(part.replayed_as or 'latest')}"
        f" {as_word(tasks[0]) if tasks else 'TASK'}) and accept it: {NEW_REFERENCE}",
        fields=tuple(one.field for one in part.changed),
        tasks=tasks,
    )


def _toolchain_notices(part: ToolchainDrift) -> Iterator[Alarm]:
    if unstable := tuple(dict.fromkeys(task for task, _ in part.unstable)):
        yield Alarm(
            cause="toolchain",
            level="notice",
            sentence=f"toolchain: {len(part.unstable)} of {part.replies} frozen replies come out both ways with the same programs"
            f" and are set apart; {task_counts(unstable)}: {listed(unstable)}",
            next_step="nothing has to be done, unless they become many: such a task tells little",
            tasks=unstable,
        )
    if otherwise := tuple(dict.fromkeys(flip.task for flip in part.otherwise)):
        yield Alarm(
            cause="toolchain",
            level="notice",
            sentence=f"toolchain: {len(part.otherwise)} of {part.compared} frozen replies keep their verdict for another cause;"
            f" {task_counts(otherwise)}: {listed(otherwise)}",
            next_step=f"look at one: crosspath show {as_word(part.replayed_as or 'latest')} {as_word(otherwise[0])}",
            tasks=otherwise,
        )


def _changed(part: ToolchainDrift) -> str:
    return listed([program_change(one) for one in telling(part.changed)], _MOST_PROGRAMS)


# -- provider ------------------------------------------------------------------------------------------------------------


def _provider(look: Look) -> Iterator[Alarm]:
    part = look.provider
    if part.status == "drift":
        yield _moved(look)
        if part.unmeasured_today:
            yield _unknown_today(look)
        return
    if part.unmeasured_today:
        yield _unknown_today(look)
    elif part.status != "no drift":
        yield _unmeasured("provider", part, to_measure(look))
    if part.taken_back and part.why != "reference":
        yield _taken_back(look)
    if served := [one for one in _served(look.configuration) if _answers_anew(one.difference)]:
        yield Alarm(
            cause="provider",
            level="notice",
            sentence=f"provider: {_served_words(served)}; {_held(part)}",
            next_step="nothing has to be done while the pass rate holds; pin the served model if the provider lets you",
            fields=tuple(one.difference.field for one in served),
        )
    if signals := [one for one in part.signals if one.changed]:
        yield Alarm(
            cause="provider",
            level="notice",
            sentence=f"provider: replies of {look.deployment} look otherwise than in {look.reference}: "
            f"{'; '.join(map(_signal, signals))}; {_held(part)}",
            next_step=f"read some replies: crosspath show {as_word(look.newest or 'latest')} TASK",
            fields=tuple(one.name for one in signals),
        )


def _moved(look: Look) -> Alarm:
    part = look.provider
    direction = part.direction or "otherwise"
    tasks = _moved_tasks(part)
    most = f", most on {', '.join(map(one_line, tasks[:3]))}" if tasks else ""
    served = _served(look.configuration)
    signals = [one.name for one in part.signals if one.changed]
    behind = [
        *_newest(part),
        *([_served_words(served)] if served else []),
        *([f"changed too: {', '.join(signals)}"] if signals else []),
        *_beside_the_toolchain(look),
    ]
    return Alarm(
        cause="provider",
        level="alarm",
        sentence=f"provider: {look.deployment} answers {direction}, found on {part.found_on or 'an unknown day'}: "
        f"{_sizes(part)}{_compared_tasks(part)} against {look.reference}{most}" + "".join(f"; {words}" for words in behind),
        next_step=to_settle(look, served),
        fields=tuple(one.difference.field for one in served),
        tasks=tasks,
    )


def _newest(part: ProviderDrift) -> Iterator[str]:
    """The newest day by itself: a mean over a week is small on the first day of an outage, and large after its last."""
    days = [day for day in part.days if day.used and day.rate]
    if days and (rate := days[-1].rate):
        yield f"{percent(rate.value)} pass on {days[-1].day}"


def _sizes(part: ProviderDrift) -> str:
    """What was found on the day, and what the last window shows where that is another day."""
    window = f"over the last {part.window_days} days" if part.window_days > 1 else "on the last day"
    days = [day for day in part.days if day.change is not None]
    last = f"{_interval(part.change)} {window}"
    then = next((day for day in days if day.day == part.found_on), None)
    if then is None or then is days[-1] or then.change == part.change:
        return last
    back = " (it may be gone again)" if part.change and (part.change.low or 0) <= 0 <= (part.change.high or 0) else ""
    return f"{_interval(then.change)} then and {last}{back}"


def _interval(change: Estimate | None) -> str:
    if change is None or change.value is None:
        return "an unknown size"
    ends = f" [{points(change.low)}, {points(change.high)}]" if change.low is not None and change.high is not None else ""
    return f"{points(change.value)} points{ends}"


def _compared_tasks(part: ProviderDrift) -> str:
    """Those of the change: a watch that was reduced compares fewer tasks than its reference has."""
    compared = len(part.task_changes)
    return f" on {compared} task{'s' * (compared != 1)}" if compared else ""


def _moved_tasks(part: ProviderDrift) -> tuple[str, ...]:
    """Tasks that moved in the direction of the whole, the largest first."""
    sign = -1 if part.direction == "worse" else 1
    moved = [one for one in part.task_changes if sign * (one.recent - one.reference) > 0]
    return tuple(one.task for one in sorted(moved, key=lambda one: -sign * (one.recent - one.reference)))


def _beside_the_toolchain(look: Look) -> Iterator[str]:
    flipped = set(look.toolchain.flipped_tasks) if look.toolchain.status == "drift" else set[str]()
    if apart := len(flipped & look.provider.set_apart.keys()):
        tasks = f"{apart} task{'s' * (apart != 1)}"
        yield f"this is beyond the toolchain: the {tasks} whose frozen replies come out otherwise are set apart"


def _served(part: ConfigurationDrift) -> list[ConfigurationChange]:
    """The last change of each field that the endpoint says of itself, unless it was changed back."""
    net = {one.field: one for one in part.since_reference}
    last = {one.difference.field: one for one in part.timeline if one.bearing == "provider" and one.difference.field in net}
    return [one.model_copy(update={"difference": net[field]}) for field, one in sorted(last.items(), reverse=True)]


def _answers_anew(difference: FieldDifference) -> bool:
    """Whether a name answers that did not before. Where several answer in turn, a day need not see all of them: that is news only
    beside a change of the pass rate."""
    return not set(difference.b.split(", ")) <= set(difference.a.split(", "))


def _served_words(served: Iterable[ConfigurationChange]) -> str:
    names = {"model.served": "the served model", "model.fingerprint": "its fingerprint"}
    return " and ".join(
        f"{names.get(one.difference.field, one_line(one.difference.field))} changed from {named_value(one.difference.a)}"
        f" to {named_value(one.difference.b)} on {day_of(one.at)}"
        for one in served
    )


def _held(part: ProviderDrift) -> str:
    if part.change is None or part.change.value is None:
        return "whether the pass rate changed is not known"
    return f"no change of the pass rate was found: {_interval(part.change)}"


def _signal(signal: Signal) -> str:
    caution = f" ({LATENCY_DEPENDS})" if signal.name == "latency" else ""
    return f"{signal.name} {signal_value(signal, signal.reference)} -> {signal_value(signal, signal.recent)}{caution}"


def _taken_back(look: Look) -> Alarm:
    part = look.provider
    apart = f": {task_counts(tuple(part.set_apart))} set apart now" if part.set_apart else ""
    return Alarm(
        cause="provider",
        level="notice",
        sentence=f"provider: what was found on {part.taken_back} against {look.reference} is no finding any more, because"
        f" something else explains it{apart}, or more was evaluated on that day",
        next_step="compare this look with that one before you call it over",
        tasks=tuple(part.set_apart),
    )


def _unknown_today(look: Look) -> Alarm:
    part = look.provider
    why = one_line(part.unmeasured_today).rstrip(".")
    # The day is used where an earlier evaluation of the same date is a measurement.
    earlier = part.why in ("day", "programs") and bool(part.days) and part.days[-1].used
    known = (
        f"an earlier evaluation of {part.days[-1].day} counts, the newest does not" if earlier else "nothing is known of today"
    )
    sentence = f"provider: {known}: {why}"
    return Alarm(cause="provider", level="unmeasured", sentence=sentence, next_step=to_measure_today(look))


def _unmeasured(cause: DriftCause, part: ConfigurationDrift | ToolchainDrift | ProviderDrift, step: str) -> Alarm:
    words = "not enough was observed" if part.status == "not enough" else "could not measure"
    said = one_line(part.sentence).rstrip(".").removeprefix(f"{words}: ")
    # Such a sentence says so itself.
    before = "" if isinstance(part, ProviderDrift) and part.why == "too little" else f"{words}: "
    return Alarm(cause=cause, level="unmeasured", sentence=f"{cause}: {before}{said}", next_step=step)
