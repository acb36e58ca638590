"""What a card says of the configuration: every field, the path, the programs, and how to run it again."""

from collections.abc import Mapping
from typing import Any

import yaml

from crosspath.analysis.configuration import flatten
from crosspath.analysis.wording import NONE, table
from crosspath.escaping import markdown
from crosspath.reports.blocks import fenced
from crosspath.types import Card, CardPath, Toolchain, canonical_json

_FIRST = (
    "name",
    "experiment",
    "kind",
    "models",
    "candidates",
    "reference",
    "contracts",
    "transports",
    "styles",
    "tasks",
    "trials",
)
"""Sections of a spec in the order in which a person reads them."""


def configuration(card: Card) -> str:
    """Every field of the candidate and what it resolved to."""
    rows = [*_model(card), *_told(card), *_done(card), *_point(card), *_where(card)]
    return table(["field", "value"], [[name, value] for name, value in rows])


def _model(card: Card) -> list[tuple[str, object]]:
    model = card.candidate.generation.model
    return [
        ("model asked", model.name),
        ("endpoint", card.endpoint),
        ("model served", _counted(card.served)),
        ("fingerprints", _counted(card.fingerprints)),
        *[(f"params.{name}", value) for name, value in flatten(model.params).items() if name],
    ]


def _counted(names: Mapping[str, int]) -> str:
    """``gpt-4o (108 replies), not said (2 replies)``."""
    replies = {name: f"{count} {'reply' if count == 1 else 'replies'}" for name, count in names.items()}
    return ", ".join(f"{name or 'not said'} ({count})" for name, count in replies.items()) or "no reply"


def _told(card: Card) -> list[tuple[str, object]]:
    generation = card.candidate.generation
    versions = {contract.name: f", version {contract.version}, shape {contract.shape}" for contract in card.contracts}
    tools = {contract.name: ", ".join(tool.name for tool in contract.tools) for contract in card.contracts}
    offered = "all of its contract" if generation.tools is None else ", ".join(generation.tools)
    rows: list[tuple[str, object]] = [("contract (N)", generation.contract), ("reference contract (R)", card.reference.contract)]
    for name in sorted(card.contract_digests, key=lambda name: (name != generation.contract, name)):
        digest = card.contract_digests[name]
        with_tools = f", tools {tools[name]}" if tools.get(name) else ""
        rows.append((f"contract {name}", f"sha256 {digest}{versions.get(name, '')}{with_tools}"))
    style = card.style
    return [
        *rows,
        ("tools offered", offered),
        ("request style", generation.request_style + (f", sha256 {style.digest}" if style else ", its text was not kept")),
    ]


def _done(card: Card) -> list[tuple[str, object]]:
    return [
        ("path (N)", card.candidate.transport),
        ("reference path (R)", card.reference.transport),
        ("harness clean-up", card.candidate.harness),
        *[(f"validator {name}", f"suite sha256 {digest}") for name, digest in card.suites.items()],
    ]


def _point(card: Card) -> list[tuple[str, object]]:
    point = flatten(card.candidate.generation.operating_point.model_dump(mode="json"))
    bodies = [(f"body sent, told {side}", canonical_json(body)) for side, body in card.sent.items()]
    return [*((f"operating point: {name}", value) for name, value in point.items()), ("trials a task", card.trials), *bodies]


def _where(card: Card) -> list[tuple[str, object]]:
    about = card.evaluation
    derived = f"{about.derived_from}: {about.derivation or 'no reason given'}" if about.derived_from else "nothing"
    return [
        ("evaluation", about.id),
        ("candidates in it", about.candidates),
        ("derived from", derived),
        ("starts of the program", len(about.sessions)),
        ("run in MLflow", about.mlflow_run or "not said"),
        ("lock digest", about.lock_digest),
        ("spec digest", about.spec_digest),
    ]


# -- the path and the programs -----------------------------------------------------------------------------------------------


def path_chains(card: Card) -> str:
    """Each path, layer by layer."""
    return "\n".join(_chain(path) for path in card.paths)


def _chain(path: CardPath) -> str:
    head = f"Path {markdown(path.name)} for replies under {markdown(path.contract)} (sha256 `{path.digest}`):\n"
    if path.spec.external is not None:
        harness = path.spec.external
        state = {True: "changed since", False: "as it was committed or installed", None: "not known to be changed or not"}
        code = f"its code: sha256 {harness.code_digest or 'not known'}, {state[harness.dirty]}"
        return f"{head}\n1. a harness of one's own, {markdown(harness.function or ' '.join(harness.argv))}; {markdown(code)}\n"
    cleaned = [f"the harness takes its text: clean-up {path.cleanup}"] if path.cleanup != "none" else []
    lines = [*cleaned, *(path.does or [layer.layer for layer in path.spec.layers])]
    return f"{head}\n" + "".join(f"{number}. {markdown(line)}\n" for number, line in enumerate(lines, 1))


def toolchain(card: Card) -> str:
    """Sandbox, limits, programs, packages and the code's own commit."""
    rows: list[tuple[str, object]] = _programs(card.toolchain) if card.toolchain else [("toolchain", "not recorded")]
    if card.earlier_toolchains:
        rows.append(("earlier sessions ran with", f"{len(card.earlier_toolchains)} other toolchains"))
    rows += [(name, version) for name, version in card.packages.items()]
    changed = "with changes that are in no commit" if card.dirty else "nothing else was changed"
    rows += [("Crosspath", card.crosspath), ("its commit", f"{card.commit}, {changed}" if card.commit else "not known")]
    return table(["ran with", ""], rows)


def _programs(used: Toolchain) -> list[tuple[str, object]]:
    return [
        ("sandbox", used.sandbox),
        ("limits in force", ", ".join(used.limits_enforced) or NONE),
        ("limits not in force", ", ".join(used.limits_missing) or NONE),
        *used.programs.items(),
        ("platform", used.platform),
        ("Python", used.python),
    ]


# -- again -------------------------------------------------------------------------------------------------------------------


def how_to_repeat(card: Card) -> str:
    """The commands, and the spec that they need."""
    about = card.evaluation
    lines = [
        f"1. Install Crosspath {markdown(card.crosspath)} and save the spec below as `card-spec.yaml`. Fill in what is left open:"
        " an address that begins with `http://own-endpoint`, files of one's own by name, the variable that holds a key.",
        "2. `crosspath plan card-spec.yaml` says what it takes, `crosspath run card-spec.yaml` does it. Replies are drawn anew.",
        "3. With the evaluation's bundle (in MLflow, or from its owner) nothing is drawn anew:"
        " `crosspath verify CARD --bundle DIR` judges its stored final states again.",
    ]
    if about.derived_from is not None:
        lines.append(f"4. This evaluation was derived ({markdown(about.derivation or '')}); the spec asks the candidate anew.")
    return "\n".join(lines) + "\n\n" + fenced(spec_yaml(card.spec), "yaml")


def spec_yaml(spec: Mapping[str, Any]) -> str:
    """A spec as YAML, ASCII only: what a person changes first."""
    names = sorted(spec, key=lambda name: _FIRST.index(name) if name in _FIRST else len(_FIRST))
    return yaml.safe_dump({name: spec[name] for name in names}, sort_keys=False, allow_unicode=False, width=120)
