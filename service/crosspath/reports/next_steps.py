"""What to do next about a candidate: one command or one setting, chosen by rules from where most was lost.

The rules, the first that applies:

1. the control is broken          -> find out what the path does to text: the instrument or the harness has to be mended first
2. no task can be done            -> how it declines, and tasks that can be done
3. too few verdicts, or most was lost to the infrastructure -> what brings the missing ones
4. nothing was lost               -> nothing to mend
5. most was lost to the format    -> the clean-up that would have kept it, else look at one
6. most was lost to the path      -> other paths for the same replies, and which of them to take
7. most was lost to the model, which could be none in other families of tasks, and is more than a twentieth here -> more families
8. most was lost to the model     -> drop the telling where that did it, else look at one

What a path or a format costs is exact for the replies at hand, and to try another costs no request: no more families are needed.
"""

import shlex
from collections.abc import Callable

from crosspath.analysis.coverage import inconclusive
from crosspath.transports import preset_names
from crosspath.types import Decomposition, Facts, FormatDamage, Judgement, Loss, Losses

Step = tuple[str, str]
"""Words, and the command in them as it is typed; empty where there is none."""
_SMALL = 1 / 20
"""A loss up to this share is looked at trial by trial, however wide its interval is."""


def next_step(facts: Facts, judgement: Judgement, decomposition: Decomposition, losses: Losses) -> Step:
    """The step for one candidate, in words and as a command."""
    case = _Case(facts, judgement, decomposition, losses)
    if decomposition.control.status == "broken":
        return case.mend_the_instrument()
    if not losses.attempted:
        return "read how it declines; for pass rates and damage, add tasks that can be done", ""
    if not losses.biggest:
        return case.nothing()
    if losses.biggest == "infrastructure" or inconclusive(decomposition):
        return case.observe_the_rest()
    return case.more_families() if case.uncertain else case.about(losses.biggest)


class _Case:
    """One candidate of one evaluation."""

    def __init__(self, facts: Facts, judgement: Judgement, decomposition: Decomposition, losses: Losses) -> None:
        self._facts = facts
        self._judgement = judgement
        self._decomposition = decomposition
        self._losses = losses

    def about(self, place: Loss) -> Step:
        steps: dict[Loss, Callable[[], Step]] = {
            "path": self.other_paths,
            "format": self.clean_up,
            "model": self.ask_otherwise,
            "infrastructure": self.observe_the_rest,
        }
        return steps[place]()

    @property
    def uncertain(self) -> bool:
        """Whether the biggest loss is the model's, could be none in other families, and is too big to look at trial by trial."""
        place = self._losses.biggest
        share = self._losses.shares.get(place) if place == "model" else None
        return bool(share and share.value and share.value > _SMALL and not share.low)

    def nothing(self) -> Step:
        if self._losses.made_up:
            return self._step("nothing to mend as deployed; a path that breaks less is found by {}", self._every_path())
        return "nothing to mend", ""

    def mend_the_instrument(self) -> Step:
        path = self._own_path
        where = "" if path in preset_names() else " --spec SPEC"
        command = f"crosspath transports diagnose {shlex.quote(path)}{where}"
        return self._step("mend the harness or the instrument first: {} shows what the path does to text", command)

    def more_families(self) -> Step:
        known = any(share.low is not None for share in self._losses.shares.values())
        why = "because the loss could be none in others" if known else "because one says nothing about others"
        return self._step(f"more task families, {why}: {{}} says how narrow the interval gets", "crosspath plan SPEC")

    def other_paths(self) -> Step:
        ranked = any(one.candidate == self._losses.candidate for path in self._judgement.path_rankings for one in path.paths)
        if ranked:
            return self._step("take the path that breaks least: {}", f"crosspath recommend {self._id}")
        return self._step(
            f"send the same replies through other paths: {{}}, then crosspath recommend on the result{self._or_tell()}",
            self._every_path(),
        )

    def _or_tell(self) -> str:
        """A candidate that is told nothing of its path may be told about it."""
        return "; or tell the model about the path, contract: tell" if self._losses.told == "R" else ""

    def clean_up(self) -> Step:
        if other := self._better_clean_up():
            return f"set harness: {other} for this candidate (it is {self._harness}){self._won_back()}", ""
        return self._look("format", "see what is wrong with the form of a reply")

    def _won_back(self) -> str:
        """What that clean-up changes, where it was tried on these replies."""
        found = self._format_damage
        if found is None or found.unmeasured:
            return ""
        won = max(found.lost, found.gained)
        return f": {found.changed} of {found.replies} replies come out differently then, and {won} of those are right only then"

    @property
    def _format_damage(self) -> FormatDamage | None:
        return next((one for one in self._judgement.format_damage if one.candidate == self._losses.candidate), None)

    def _better_clean_up(self) -> str:
        """The clean-up that would have kept more; empty where there is none."""
        found = self._format_damage
        if found is None or found.unmeasured:
            return "fenced-block" if self._harness != "fenced-block" else ""
        if found.own == found.cleaned:
            return found.strict if found.gained > found.lost else ""
        return found.cleaned if found.lost > found.gained else ""

    def ask_otherwise(self) -> Step:
        if self._decomposition.undisclosed:
            told = self._decomposition.discloses
            return f"tell the model about its own path, contract: tell (it is told about {told}, which is another one)", ""
        if 2 * self._losses.told_worse > self._losses.lost["model"]:
            return (
                "tell the model nothing of the path: on the same path it is right more often when told the reference contract",
                "",
            )
        if self._losses.kinds["model"].get("truncated", 0) * 2 > self._losses.lost["model"]:
            return "raise operating_point.max_tokens: most of these replies were cut off", ""
        return self._look("model", "try another model or contract; what it wrote is shown by")

    def observe_the_rest(self) -> Step:
        kinds = self._losses.kinds.get("infrastructure", {})
        main = max(kinds, key=lambda one: kinds[one], default="")
        if main == "fault:budget":
            return "raise the limits of the spec and run the same command again: it asks only for what is missing", ""
        if main == "fault:not_recorded":
            return self._step("answer what the recording lacks: {} prints every request", "crosspath prompts SPEC --json")
        if main == "fault:missing_program":
            return self._step("install the program that the path needs: {} names it", "crosspath doctor SPEC")
        if main == "unstable":
            return self._look("infrastructure", "make the racy task or command steady: it is shown by")
        return "run the same command again: it asks only for what is missing", ""

    def _look(self, place: Loss, words: str) -> Step:
        task, index = self._losses.examples[place]
        trial = f" --trial {index}" if index else ""
        who = f" --candidate {shlex.quote(self._losses.candidate)}" if len(self._facts.lock.candidates) > 1 else ""
        command = f"crosspath show {self._id} {shlex.quote(task)}{who}{trial}"
        return self._step(f"{words}{'' if words.endswith('by') else ':'} {{}}", command)

    def _step(self, words: str, command: str) -> Step:
        return words.format(command), command

    def _every_path(self) -> str:
        return f"crosspath replay {self._id} --all-transports"

    @property
    def _id(self) -> str:
        return shlex.quote(self._facts.head.id)

    @property
    def _own_path(self) -> str:
        return next(one.transport for one in self._facts.lock.candidates if one.name == self._losses.candidate)

    @property
    def _harness(self) -> str:
        return next(one.harness for one in self._facts.lock.candidates if one.name == self._losses.candidate)
