"""Stored replies through every path: what is planned and shared, what can't be tried, and what of it is shown where."""

from collections import Counter
from pathlib import Path

import pytest

from crosspath.adapters.local_executor import LocalExecutor
from crosspath.adapters.mlflow_tracker.layout import layout
from crosspath.app.derive import derivation_words, replay_resolved
from crosspath.app.evaluation import Evaluation
from crosspath.app.recommending import recommendation_markdown, recommendations
from crosspath.app.resolve import resolve
from crosspath.app.session import Derivation, gather, open_evaluation
from crosspath.cli.finishing import document_of, exit_code, finish
from crosspath.errors import ConfigError
from crosspath.pipeline.judge import judge
from crosspath.reports.markdown import report_markdown, summary_text
from crosspath.spec import load_spec
from crosspath.store.bundle import read_judgement, write_bundle
from crosspath.store.ledger import Ledger
from crosspath.testing.model import ScriptedModel
from crosspath.testing.sandbox import Effect, FakeSandbox
from crosspath.testing.validator import FakeValidator
from crosspath.transports import preset_names
from crosspath.types import Command, Facts, Judgement

SPEC = """\
name: few
tasks: {families: [exact-file], tiers: [0, 1]}
candidates:
  told raw: {model: baseline/oracle}
  told json: {model: baseline/oracle, contract: json}
"""
OWN = {"mine": {"layers": ["single-quoted-shell", "shell"]}}
"""A path of one's own; no replies of a shape that it can't read."""


class Fakes:
    """An executor without a model or a sandbox; `bash -c ORACLE` is right, every other command does nothing."""

    def __init__(self, facts_tasks: dict[bytes, Effect], answers: ScriptedModel) -> None:
        self.model = answers
        self._effects = facts_tasks

    def executor(self) -> LocalExecutor:
        return LocalExecutor(lambda: self.model, self._sandbox, replay_workers=1)

    def _sandbox(self) -> FakeSandbox:
        return FakeSandbox(self._effect, missing_programs=frozenset({"tmux"}))

    def _effect(self, command: Command) -> Effect:
        return self._effects.get(command.argv[-1], Effect())


@pytest.fixture(scope="module")
def source_and_all(tmp_path_factory: pytest.TempPathFactory) -> tuple[Facts, Facts, Fakes]:
    """An evaluation of two contracts, and its replay through every path; on this machine there is no tmux."""
    place = tmp_path_factory.mktemp("all")
    resolved = resolve(load_spec(SPEC, "few.yaml"), place)
    right = {(task.oracle or "").encode(): Effect(writes=task.expected) for task in resolved.plan.tasks.values()}
    fakes = Fakes(right, ScriptedModel(dict(resolved.answers)))
    ledger = Ledger(place / "store")
    source = gather(ledger, resolved, open_evaluation(ledger, resolved), fakes.executor())
    asked = len(fakes.model.requests)
    every = replay_resolved(source, (), OWN, place, every=True)
    opened = open_evaluation(ledger, every, Derivation(source.head.id, derivation_words(every), source.trials))
    facts = gather(ledger, every, opened, fakes.executor(), generate=False)
    ledger.close()
    assert len(fakes.model.requests) == asked
    return source, facts, fakes


@pytest.fixture(scope="module")
def judged(source_and_all: tuple[Facts, Facts, Fakes]) -> tuple[Facts, Judgement]:
    """The replay and its judgement."""
    return source_and_all[1], judge(source_and_all[1], FakeValidator())


def test_all_that_ship_and_one_s_own(source_and_all: tuple[Facts, Facts, Fakes]) -> None:
    """Every path that ships and reads the contract's shape is there, one's own as well, and the words for it stay short."""
    source, facts, _ = source_and_all
    paths = [candidate.transport for candidate in facts.lock.candidates if candidate.name.startswith("told raw")]
    assert paths[0] == source.lock.reference.transport
    assert {"nested-shell", "tmux", "mine"} <= set(paths) <= {*preset_names(), "mine"}
    assert len(set(paths)) == len(paths)
    assert facts.not_applicable == {}
    assert facts.head.derivation == f"replay through {len({one.transport for one in facts.lock.candidates})} paths"


def test_named_paths_come_first_and_none_is_refused(source_and_all: tuple[Facts, Facts, Fakes], tmp_path: Path) -> None:
    """Paths that are named stand first; without any, the way to all of them is said."""
    source = source_and_all[0]
    plan = replay_resolved(source, ["script-file"], {}, tmp_path, every=True).plan
    assert plan.candidates[0].transport == "script-file"
    assert Counter(one.transport for one in plan.candidates)["script-file"] == 2
    named = replay_resolved(source, ["script-file"], {}, tmp_path)
    assert derivation_words(named) == "replay through script-file"
    with pytest.raises(ConfigError, match="--all-transports"):
        replay_resolved(source, (), {}, tmp_path)


def test_what_candidates_share_is_replayed_once(source_and_all: tuple[Facts, Facts, Fakes]) -> None:
    """The reference is replayed once for each reply, however many paths are compared with it."""
    _, facts, _ = source_and_all
    references = {(cell.generation.digest, cell.path) for cell in facts.cells if cell.done == "R"}
    on_reference = Counter(
        (one.key.trial, one.key.path)
        for one in facts.replays
        if (one.key.trial.generation, one.key.path) in references and not one.key.repeat
    )
    assert set(on_reference.values()) == {1}
    assert len(facts.lock.candidates) > 50


def test_a_path_without_its_program_could_not_be_tried(judged: tuple[Facts, Judgement]) -> None:
    """It is listed with the reason, never as zero; no warning speaks of its control."""
    _, found = judged
    tmux = [path for ranking in found.path_rankings for path in ranking.paths if path.path == "tmux"]
    assert tmux
    assert {(path.apart, path.rank, path.reason) for path in tmux} == {("untried", None, "the path needs the program 'tmux'")}
    assert any("missing_program" in warning for warning in found.warnings)
    assert not any("tmux: the control" in warning for warning in found.warnings)
    assert any("The control is broken for " in warning for warning in found.warnings)


def test_exit_codes(judged: tuple[Facts, Judgement]) -> None:
    """Of paths that nobody chose a broken control takes out only its own; of chosen ones it is exit 4, as ever."""
    evaluation = Evaluation(*judged)
    assert exit_code(evaluation) == 4
    assert exit_code(evaluation, every=True) == 0


def test_a_terminal_shows_the_ranking(judged: tuple[Facts, Judgement], capsys: pytest.CaptureFixture[str]) -> None:
    """With many candidates there is no paragraph for each, but one table of paths, and what to do with it."""
    evaluation = Evaluation(*judged)
    finish(evaluation, as_json=False, every=True)
    out = capsys.readouterr().out
    assert "right when told" not in out
    assert "could not be tried (the path needs the program 'tmux'): tmux" in out
    assert f"crosspath recommend {evaluation.id}" in out
    assert summary_text(judged[1]).count("\n") < 20


def test_report_document_and_frame(judged: tuple[Facts, Judgement]) -> None:
    """The ranking is a section of the report, a part of the JSON document, and a DataFrame."""
    facts, found = judged
    assert "## What each path costs" in report_markdown(facts, found)
    evaluation = Evaluation(facts, found)
    assert len(document_of(evaluation)["path_rankings"]) == len(found.path_rankings)
    frame = evaluation.paths
    assert len(frame) == sum(len(ranking.paths) for ranking in found.path_rankings)
    assert set(frame[frame["path"] == "raw"]["rank"]) == {1}


def test_mlflow_gets_each_path_once(judged: tuple[Facts, Judgement]) -> None:
    """One run for each path, the reference among them once; ranks are a column; names differ."""
    facts, found = judged
    made = layout(facts, found, max_rows=240)
    made.check()
    assert len(made.nested) <= len(facts.lock.candidates) + len({cell.generation.digest for cell in facts.cells})
    names = [run.name for run in made.nested]
    assert len(set(names)) == len(names)
    raw = next(run for run in made.nested if run.name.startswith("told raw via raw"))
    assert (raw.metrics["rank_path"], "best_pp" in raw.metrics) == (1, False)
    assert sum(run.name.endswith("told raw, done raw") for run in made.nested) == 1


def test_the_bundle_holds_a_table_and_a_figure(judged: tuple[Facts, Judgement], tmp_path: Path) -> None:
    """All paths in one table and a figure for each generation, none for each candidate; read back the same."""
    facts, found = judged
    write_bundle(facts, found, tmp_path / "bundle")
    assert read_judgement(tmp_path / "bundle").path_rankings == found.path_rankings
    assert (tmp_path / "bundle" / "paths.parquet").is_file()
    figures = [path.name for path in (tmp_path / "bundle" / "figures").iterdir()]
    assert sum(name.startswith("paths-") for name in figures) == len(found.path_rankings)
    assert all(name.startswith(("paths-", "families-")) for name in figures)


def test_recommendations_over_contracts(judged: tuple[Facts, Judgement]) -> None:
    """Contracts of one model are weighed together; here only the references can be ranked, each by what it is told."""
    evaluation = Evaluation(*judged)
    (one,) = recommendations(evaluation)
    assert one.generations == 2
    ranked = {(choice.path.path, choice.contract) for choice in one.choices if choice.path.rank}
    assert {("raw", "raw"), ("raw", "json")} <= ranked
    text = recommendation_markdown(evaluation, (one,))
    assert "What generation cost is not known" in text
    assert "Could not be tried" in text
