"""``deployment:`` and ``tasks.only`` of a spec: what is read, and what is refused with which line."""

from pathlib import Path

import pytest

from crosspath.app.readiness import as_reference, resolved_spec
from crosspath.errors import ConfigError
from crosspath.spec import Spec, load_spec

ONE = "models: {m: baseline/oracle}\n"
TWO = "models: {a: baseline/oracle, b: baseline/naive}\n"


def read(text: str) -> Spec:
    return load_spec(text, "watch.yaml")


def refused(text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        read(text)
    return str(caught.value)


def test_a_deployment_is_a_name_or_a_section() -> None:
    """Its name alone is enough where there is one candidate; the rest has defaults."""
    short, long = read(ONE + "deployment: bot\n"), read(ONE + "deployment: {name: bot, candidate: m}\n")
    assert short.deployed() == long.deployed() == "m"
    assert short.deployment
    assert (short.deployment.reference_trials, short.deployment.alpha, short.deployment.horizon_days) == (10, 0.05, 60)
    assert read(ONE).deployed() is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (TWO + "deployment: bot\n", "watch.yaml:2: deployment.candidate: is missing: which candidate is it? one of: a, b"),
        (TWO + "deployment: {name: bot, candidate: c}\n", "deployment.candidate: 'c' is no candidate"),
        (ONE + "deployment: {}\n", "deployment.name: is missing"),
        (ONE + "deployment: ' bot'\n", "deployment.name: ' bot' is no name"),
        (ONE + "deployment: a/../b\n", "deployment.name: 'a/../b' is no name"),
        (ONE + "deployment: -x\n", "deployment.name: '-x' is no name: no '-' at the beginning"),
        (ONE + "deployment: {name: bot, reference_trials: 3}\n", "deployment.reference_trials: must be"),
        (ONE + "deployment: {name: bot, alpha: 5}\n", "deployment.alpha: must be"),
        (ONE + "deployment: {name: bot, alfa: 0.1}\n", "deployment.alfa: unknown field; did you mean alpha?"),
        (ONE + "deployment: bot\nreuse: [old]\n", "reuse: a deployment is sampled anew each time"),
        (ONE + "trials: 3\ndeployment: {name: bot, reference: true}\n", "trials: 3 is too few: a reference has at least 10"),
    ],
)  # fmt: skip
def test_what_can_t_be_a_deployment_is_one_line(text: str, said: str) -> None:
    """File, field, value and what would be right."""
    found = refused(text)
    assert said in found
    assert "\n" not in found


def test_a_deployment_changes_no_reply_and_no_replay() -> None:
    """The digest of a spec is the same whatever series it belongs to."""
    assert read(ONE).digest == read(ONE + "deployment: {name: bot, alpha: 0.01}\n").digest


def test_a_reference_has_its_own_number_of_trials() -> None:
    """``--reference`` takes the trials of the section and marks the evaluation; without a deployment it is refused."""
    spec = as_reference(read(ONE + "trials: 2\ndeployment: {name: bot, reference_trials: 12}\n"))
    assert spec.deployment
    assert (spec.trials, spec.deployment.reference) == (12, True)
    with pytest.raises(ConfigError, match="deployment: is missing: a reference belongs to a deployment"):
        as_reference(read(ONE))


def test_only_names_tasks_by_id() -> None:
    """Exactly those tasks are taken, and one that does not exist is refused with the nearest."""
    two = sorted(resolved_spec({"models": {"m": "baseline/oracle"}}).plan.tasks)[:2]

    def taken(names: list[str]) -> list[str]:
        return sorted(resolved_spec({"models": {"m": "baseline/oracle"}, "tasks": {"only": names}}).plan.tasks)

    assert taken(two) == two
    with pytest.raises(ConfigError, match=f"no task has '{two[1]}x'; did you mean"):
        taken([two[0], two[1] + "x"])


def test_a_reference_is_said_with_its_file(tmp_path: Path) -> None:
    """The line about a missing deployment names the file."""
    file = tmp_path / "plain.yaml"
    file.write_text(ONE)
    with pytest.raises(ConfigError, match=r"plain\.yaml: deployment: is missing"):
        resolved_spec(file, reference=True)
