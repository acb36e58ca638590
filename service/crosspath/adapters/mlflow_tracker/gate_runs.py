"""A gate's verdict as a run of its own: what it decided and why, with everything that it takes to draw it again."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from crosspath.adapters.mlflow_tracker.addresses import evaluation_url
from crosspath.adapters.mlflow_tracker.layout import RUN_TYPE
from crosspath.adapters.mlflow_tracker.logged_models import model_of
from crosspath.adapters.mlflow_tracker.metrics import EFFECT_VALUES, LOSS_METRICS
from crosspath.adapters.mlflow_tracker.names import MAX_PARAM, NOTE_TAG, check_run, clean_name, finite, fit_name, fit_note, shown
from crosspath.adapters.mlflow_tracker.runs import Store
from crosspath.adapters.mlflow_tracker.vendor import LoggedModelInput, Metric, MlflowException, Param, Run, RunTag, ViewType
from crosspath.errors import TrackerError
from crosspath.escaping import markdown
from crosspath.store.promotions import verdict_digest
from crosspath.types import GateSide, RuleState, Verdict

VERDICT = "verdict"
"""Artifact directory of the run that holds the verdict's directory."""
VERDICT_TAG, KIND_TAG = "crosspath.verdict", "crosspath.kind"
LOGGED_TAG = "crosspath.logged"
"""Digest of the verdict, set last: a run without it was not logged to its end."""
FIRST = ("pass_rate", *EFFECT_VALUES.values(), *LOSS_METRICS.values())
"""What a candidate's run begins with."""
_STATES: tuple[RuleState, ...] = ("shown", "violated", "undecided", "unusable")


@dataclass(frozen=True)
class GateRun:
    """Everything that is written to the run, but for its artifacts."""

    name: str
    tags: dict[str, str]
    params: dict[str, str]
    metrics: dict[str, float]


def gate_run(verdict: Verdict, uri: str, experiment_id: str, text: str, measured: Mapping[str, float]) -> GateRun:
    """The run of a verdict; ``text``: the verdict in Markdown; ``measured``: the metrics of the candidate's own run."""
    heading, *rest = text.split("\n\n", 2)  # MLflow shows the first lines, and the rest when asked for
    note = "\n\n".join([heading, *rest[:1], "\n".join(_links(verdict, uri, experiment_id)), *rest[1:]])
    tags = {
        RUN_TYPE[0]: RUN_TYPE[1],
        KIND_TAG: "gate",
        VERDICT_TAG: verdict.id,
        "crosspath.status": verdict.status,
        "crosspath.policy": shown(verdict.policy.name) or "(unnamed)",
        "policy.digest": verdict.policy_digest,
        "mlflow.source.name": "crosspath gate",
        "mlflow.source.type": "LOCAL",
        NOTE_TAG: fit_note(note, f"{VERDICT}/verdict.md"),
        **_side_tags("candidate", verdict.candidate),
        **(_side_tags("baseline", verdict.baseline) if verdict.baseline else {}),
    }
    name = f"gate {verdict.policy.name} · {verdict.status} · {verdict.candidate.candidate}"
    return GateRun(fit_name(" ".join(name.split(" "))), tags, _params(verdict), _metrics(verdict, measured))


def _side_tags(side: str, evidence: GateSide) -> dict[str, str]:
    tags = {
        side: shown(evidence.candidate),
        f"{side}.evaluation": evidence.evaluation,
        f"{side}.run": evidence.run,
        f"{side}.ref": shown(str(evidence.ref)),
    }
    return {key: value for key, value in tags.items() if value}


def _params(verdict: Verdict) -> dict[str, str]:
    """What the run's row in MLflow's table is told from others by."""
    base = verdict.baseline
    params = {
        "policy": verdict.policy.name,
        "alpha": f"{verdict.policy.alpha:g}",
        "candidate": verdict.candidate.candidate,
        "baseline": base.candidate if base else "none",
        "status": verdict.status,
    }
    return {key: shown(value)[:MAX_PARAM] or "(empty)" for key, value in params.items()}


def _metrics(verdict: Verdict, measured: Mapping[str, float]) -> dict[str, float]:
    """How many rules are in which state, and each rule's estimate. The candidate's own first numbers stand before them: MLflow's
    table has the columns of its newest run first, and those of the evaluations below would be pushed out of sight.
    """
    counts = Counter(rule.state for rule in verdict.rules)
    numbers: dict[str, float | int | None] = {name: measured[name] for name in FIRST if name in measured}
    numbers |= {f"rules_{state}": counts[state] for state in _STATES}
    for asked, rule in zip(verdict.policy.rules, verdict.rules, strict=False):
        if rule.estimate:
            against = " vs baseline" if asked.against_baseline else ""  # or a difference of 0 reads as a rate of 0
            numbers[_unused(clean_name((rule.name or rule.metric) + against), numbers)] = rule.estimate.value
    return finite(numbers)


def _unused(name: str, taken: dict[str, float | int | None]) -> str:
    return next(one for one in (name, *(f"{name} {number}" for number in range(2, len(taken) + 3))) if one not in taken)


def _links(verdict: Verdict, uri: str, experiment_id: str) -> Iterator[str]:
    sides = (("candidate", verdict.candidate), ("baseline", verdict.baseline))
    for word, side in sides:
        if side:
            where = f" ([its evaluation]({evaluation_url(uri, experiment_id, side.run)}))" if side.run else ""
            yield f"- {word}: **{markdown(side.candidate)}** of {markdown(side.evaluation)}{where}"
    yield "- metrics: how many rules are in which state, and each rule's estimate; pass_rate and others that evaluations have are"
    yield "  the candidate's in its own evaluation"


class GateRunLogger:
    """Writes the run of one verdict to a store."""

    def __init__(self, store: Store, uri: str) -> None:
        self._store = store
        self._client = store.client
        self._uri = uri

    def log(self, verdict: Verdict, directory: Path, experiment: str) -> tuple[str, str]:
        """Experiment and run; a verdict that is there already stays as it is, and what was interrupted is made anew.

        Raises:
            TrackerError: MLflow did not keep what was logged.
        """
        place = self._place(verdict, experiment)
        for run in self._earlier(place, verdict):
            if run.data.tags.get(LOGGED_TAG) == verdict_digest(verdict):
                return place, run.info.run_id
            self._client.delete_run(run.info.run_id)
        return place, self._log(place, verdict, directory)

    def _place(self, verdict: Verdict, experiment: str) -> str:
        """The experiment of the candidate's run, in case that somebody else opened it; else the one of that name."""
        if verdict.candidate.run:
            try:
                return self._client.get_run(verdict.candidate.run).info.experiment_id
            except MlflowException:  # of another server, or deleted
                pass
        return self._store.experiment(experiment)

    def _earlier(self, place: str, verdict: Verdict) -> list[Run]:
        wanted = f"tags.`{VERDICT_TAG}` = '{verdict.id}'"
        return list(self._client.search_runs([place], wanted, ViewType.ACTIVE_ONLY, max_results=50))

    def _log(self, place: str, verdict: Verdict, directory: Path) -> str:
        file = directory / "verdict.md"
        text = file.read_text(encoding="utf-8", errors="replace") if file.is_file() else "\n".join(map(markdown, verdict.reasons))
        model = (
            model_of(self._client, place, verdict.candidate.run, verdict.candidate.candidate) if verdict.candidate.run else None
        )
        measured = {one.key: one.value for one in (model.metrics or [])} if model else {}
        content = gate_run(verdict, self._uri, place, text, measured)
        check_run(content.name, content.params, content.metrics, content.tags)
        at_ms = round(verdict.created_at * 1000)
        run_id = self._client.create_run(place, at_ms, content.tags, content.name).info.run_id
        self._client.log_batch(
            run_id,
            metrics=[Metric(key, value, at_ms, 0) for key, value in content.metrics.items()],
            params=[Param(key, value) for key, value in content.params.items()],
        )
        if model:
            self._client.log_inputs(run_id, models=[LoggedModelInput(model.model_id)])
        self._client.log_artifacts(run_id, str(directory), VERDICT)
        self._require_kept(run_id, content, directory)
        self._client.set_terminated(run_id, "FINISHED", at_ms)
        self._client.log_batch(run_id, tags=[RunTag(LOGGED_TAG, verdict_digest(verdict))])
        return run_id

    def _require_kept(self, run_id: str, content: GateRun, directory: Path) -> None:
        data = self._client.get_run(run_id).data
        for kind, wanted, kept in (("tag", content.tags, data.tags), ("metric", content.metrics, data.metrics)):
            if lost := [key for key, value in wanted.items() if kept.get(key) != value]:
                raise TrackerError(f"run {content.name!r}: MLflow did not keep {kind} {lost[0]!r} as it was logged")
        there = {entry.path for entry in self._client.list_artifacts(run_id, VERDICT)}
        if lost := sorted({f"{VERDICT}/{path.name}" for path in directory.iterdir()} - there):
            raise TrackerError(f"run {content.name!r}: MLflow did not keep the artifact {lost[0]}")


def fetch_verdict(store: Store, run_id: str, into: Path) -> Path:
    """Download the directory of a verdict.

    Raises:
        TrackerError: the run holds none.
    """
    into.mkdir(parents=True, exist_ok=True)
    if store.client.get_run(run_id).data.tags.get(KIND_TAG) != "gate" or not store.client.list_artifacts(run_id, VERDICT):
        raise TrackerError(f"run {run_id} at {store.name} holds no verdict of Crosspath")
    return Path(store.client.download_artifacts(run_id, VERDICT, str(into)))
