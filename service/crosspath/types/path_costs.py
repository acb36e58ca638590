"""What each path costs one model: the same replies on several paths, ranked."""

from typing import Literal

from crosspath.types.base import Record
from crosspath.types.results import Cell, Estimate

Apart = Literal["untried", "broken_control", "unobserved"]
"""Why a path is listed and not ranked: a program that it needs is missing; its control is broken; fewer than half of its trials
have a verdict."""
Standing = Literal["best", "equal", "not_told_apart", "told_apart"]
"""Against the first of the ranking. ``equal``: the same replies, and not one turns out otherwise."""


class PathCost(Record):
    """One path, by what it makes of replies."""

    path: str
    """Name of the path, with the harness clean-up where there is one."""
    candidate: str
    cell: Cell
    """Its replays; ``told`` and ``done`` are those of the candidate's cell."""
    reference: bool = False
    """It is the path that damage is measured against."""
    control: str
    """``holds``, ``broken``, ``missing``, ``blind`` or ``none`` (the reference needs none)."""
    rank: int | None = None
    """From 1; paths of equal pass rate and silent-wrong rate share one. None: see ``apart``."""
    apart: Apart | None = None
    reason: str = ""
    """Why it is apart, in words."""
    damage: Estimate | None = None
    """This path - the reference path for exactly these replies: RN - RR, or NN - NR of replies that were told another contract.
    None for the reference, and where it can't be seen or the control is broken."""
    damage_population: Estimate | None = None
    """The same for the population of task families."""
    lost: int | None = None
    """Replies that are right on the reference path and wrong here."""
    gained: int | None = None
    """Replies that are wrong on the reference path and right here."""
    to_best: Estimate | None = None
    """This path - the first of the ranking, paired by task; the intervals of one ranking hold together. None for the first."""
    changed: int | None = None
    """Replies that turn out otherwise than on the first path, where both have the same replies."""
    standing: Standing | None = None

    @property
    def silent(self) -> int:
        """Replays that are wrong and were reported as fine."""
        return sum(self.cell.silent_causes.values())

    @property
    def wrong(self) -> int:
        """Replays that are wrong."""
        return self.cell.scored - self.cell.passed


class PathRanking(Record):
    """Every path that the replies of one generation (model, contract, operating point) went through."""

    model: str
    contract: str
    told: Literal["R", "N"]
    paths: tuple[PathCost, ...]
    """Best first; those apart come last."""
    comparisons: int
    """How many differences to the first path hold together."""


class Example(Record):
    """One task to look at: one that goes wrong here, where there is one."""

    task: str
    trial: int
    passed: bool
    cause: str | None
    silent: bool
    command: str
    """Shows it hop by hop."""


class Choice(Record):
    """One way to deploy a model: what it is told, and the path that its replies take."""

    path: PathCost
    tokens_per_pass: float | None = None
    """Tokens in and out of all replies by right reply; None where the usage of one is not known, or none is right."""
    usd_per_pass: float | None = None
    """The same for what generation cost, retries left out."""
    frontier: bool = False
    """No other choice passes as often for less, nor more often for as much; False for all where the price of one is not known."""
    example: Example | None = None

    @property
    def contract(self) -> str:
        return self.path.cell.contract


class Recommendation(Record):
    """Which choice to take for one model at one operating point."""

    model: str
    validator: str
    advice: str
    """One plain sentence or two."""
    conclusive: bool
    """False: there is not enough evidence for an advice."""
    price: Literal["usd", "tokens"] | None = None
    """What ``frontier`` weighs against the pass rate."""
    choices: tuple[Choice, ...]
    """Best first; those that can't be ranked come last."""
    generations: int
    """How many generations are among them: differences between two hold the chance of both draws."""
