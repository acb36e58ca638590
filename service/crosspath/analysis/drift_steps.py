"""What a person does next about what a look found: a command that can be copied, with the reason to choose it."""

from collections.abc import Sequence
from dataclasses import dataclass

from crosspath.analysis.drift_naming import as_word, named_value
from crosspath.escaping import one_line
from crosspath.types.drift import ConfigurationChange, ConfigurationDrift, ProviderDrift, ToolchainDrift

NEW_REFERENCE = "crosspath run SPEC --reference"
_DECIDE_FIRST = f"decide about the configuration first; then {NEW_REFERENCE}"
AGAIN_COMMAND = "crosspath run SPEC"
AGAIN = f"go on evaluating it: {AGAIN_COMMAND}"
READ_REFERENCE = (
    "see to it that the reference can be read (crosspath log finishes what was not logged to its end), or measure another:"
    f" {NEW_REFERENCE}"
)
MEASURE = f"measure a reference: {NEW_REFERENCE}"
_NO_BASELINE = "REFERENCE"
"""Stands in a command where there is no reference."""


@dataclass(frozen=True)
class Look:
    """The three parts, and whose they are."""

    configuration: ConfigurationDrift
    toolchain: ToolchainDrift
    provider: ProviderDrift
    deployment: str
    """Its name on one line."""
    evaluation: str = ""
    """The newest one that can be read."""

    @property
    def reference(self) -> str:
        """What it is measured from, in words: without a reference the first evaluation."""
        part = self.configuration
        what = "the reference" if part.base_is_reference else "the first evaluation"
        return f"{what} {one_line(part.base or self.provider.reference)}".rstrip()

    @property
    def newest(self) -> str:
        """The newest evaluation; empty where there is none."""
        return self.evaluation or next((day.evaluations[-1] for day in reversed(self.provider.days) if day.evaluations), "")

    @property
    def regate(self) -> str:
        """The commands that say whether what is deployed now may stay: one day has too few trials for a gate."""
        named = self.provider.reference_run or self.provider.reference
        first = "" if named else f"; {_NO_BASELINE} is what was deployed before, with enough trials: measure it first"
        return (
            f"{NEW_REFERENCE} (it accepts the change in the watch), then"
            f" crosspath gate POLICY --candidate latest --baseline {self.named}{first}"
        )

    @property
    def named(self) -> str:
        """The reference as a command names it: by its run where its id alone does not tell."""
        return as_word(self.provider.reference_run or self.provider.reference or _NO_BASELINE)


def to_measure(look: Look) -> str:
    """What gives the provider's part an answer."""
    part = look.provider
    if part.why == "reference":
        return READ_REFERENCE
    if look.configuration.status == "drift":
        return _DECIDE_FIRST
    return AGAIN if part.reference and part.status == "not enough" else MEASURE


def to_measure_today(look: Look) -> str:
    """What makes today count."""
    why = look.provider.why
    if why == "configuration":
        return _DECIDE_FIRST
    if why == "stopped":
        return f"see to it that the daily job runs: {AGAIN_COMMAND}"
    if why == "unreadable":
        return f"see to it that it can be read, or measure today once more: {AGAIN_COMMAND}"
    if why == "programs":
        return f"{_to_execute_as_there(look)}; then the day counts"
    if why == "tasks":
        return f"evaluate the reference's tasks again, or measure a new reference of those that are left: {NEW_REFERENCE}"
    newest = as_word(look.newest or "latest")
    return f"check the endpoint and the daily job (crosspath report {newest} says what failed), then {AGAIN_COMMAND}"


def to_settle(look: Look, served: Sequence[ConfigurationChange]) -> str:
    """What ends a change of the provider's. ``served``: what the endpoint says of itself since."""
    named = next((one for one in served if one.difference.field == "model.served"), None)
    back = f"pin the served model {named_value(named.difference.a)} if the provider still has it; else " if named else ""
    return f"{back}measure what is served now with enough trials and gate that: {look.regate}"


def to_date(look: Look) -> str:
    """What tells since when the configuration is what it is."""
    if look.provider.why == "reference":
        return READ_REFERENCE
    return AGAIN if look.provider.reference else MEASURE


def to_execute(look: Look) -> str:
    """What gives the toolchain's part an answer."""
    if look.toolchain.why == "reference":
        return READ_REFERENCE
    if look.toolchain.why == "sudden":
        return "find what changed here that is no program (files, clock, locale, load), then look again"
    if not look.toolchain.frozen:
        return MEASURE
    if look.toolchain.why == "not asked for":
        return f"leave --no-replay out: crosspath drift {as_word(look.deployment)}"
    return "crosspath doctor says whether replies can be executed here; then look again"


def _to_execute_as_there(look: Look) -> str:
    """What has the frozen replies executed with the programs of the newest day."""
    if look.toolchain.status == "could not measure":
        return to_execute(look)
    return f"look where the daily job runs, with its programs: crosspath drift {as_word(look.deployment)}"
