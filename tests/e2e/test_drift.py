"""A deployment watched day by day over real HTTP: which of configuration, toolchain and provider changed, also two at once.

One reference and two days are measured once; each case goes on from a copy of that store.
"""

import json
import shutil
import socket
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import crosspath
from crosspath.app.drift_looks import Look
from crosspath.cli.entry import run
from crosspath.errors import TrackerError
from crosspath.pipeline.evaluate import Progress
from crosspath.testing.openai_server import OpenAIServer
from crosspath.types.drift import Alarm, Drift
from other_image import run_in, with_literal_awk
from watched import AWK, BOT, EDIT, PLAIN, REPLIES, TASKS, TRIALS, Endpoint, Watch, date

pytestmark = [
    pytest.mark.skipif(shutil.which("bwrap") is None, reason="needs bubblewrap (make deps)"),
    pytest.mark.filterwarnings("ignore:The ``noload`` loader strategy is deprecated:DeprecationWarning"),  # MLflow's own
]

WATCHED_DAY = Path(__file__).parents[1] / "watched_day.py"
LOST = frozenset(list(PLAIN)[:4])
"""Families that the model can't do any more where it answers worse."""
AWK_TASKS = {f"{name}/t" for name in AWK}
A_DAY = len(REPLIES) * TRIALS
"""Requests."""


@pytest.fixture(scope="module", autouse=True)
def _own_environment() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KEY_OF_TEST", "k")
        patch.delenv("MLFLOW_TRACKING_URI", raising=False)
        yield


@pytest.fixture(scope="module")
def endpoint() -> Endpoint:
    return Endpoint()


@pytest.fixture(scope="module")
def measured(endpoint: Endpoint, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watch]:
    """The reference, a day like it, and a day on which the endpoint calls itself otherwise and answers as before."""
    place = tmp_path_factory.mktemp("drift")
    with OpenAIServer(endpoint) as server:
        watch = Watch(place / "watch", server.url, place / "store").written()
        watch.evaluated(0)
        watch.evaluated(1)
        endpoint.served = "x-1101"
        watch.evaluated(2)
        yield watch


@pytest.fixture
def watch(measured: Watch, endpoint: Endpoint, tmp_path: Path) -> Iterator[Watch]:
    """A watch that goes on from there; its endpoint is as it was afterwards."""
    shutil.copytree(measured.store, tmp_path / "store")
    yield replace(measured, store=tmp_path / "store")
    endpoint.worse, endpoint.dead = frozenset(), False


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., tuple[int, Drift]]:
    """A day on a machine with another awk: ``(watch, day, "run", "look")`` gives exit code and look."""
    image = with_literal_awk(tmp_path_factory.mktemp("image"))

    def done(watch: Watch, day: int, *what: str) -> tuple[int, Drift]:
        words = [str(WATCHED_DAY), str(watch.place), watch.url, str(watch.store), str(day), *what]
        finished = run_in(image, words, PYTHONPATH=str(WATCHED_DAY.parent))
        assert finished.returncode == 0, finished.stderr
        document = json.loads(finished.stdout)
        assert document["error"] is None
        return document["exit"], Drift.model_validate(document["drift"])

    return done


def statuses(drift: Drift) -> tuple[str, str, str]:
    return drift.configuration.status, drift.toolchain.status, drift.provider.status


def alarms(drift: Drift) -> dict[str, Alarm]:
    """Cause -> its alarm; one each."""
    found = [one for one in drift.alarms if one.level == "alarm"]
    assert len({one.cause for one in found}) == len(found)
    return {one.cause: one for one in found}


def asked_for(endpoint: Endpoint, act: Callable[[], Any]) -> tuple[int, Any]:
    """Requests that arrived at the server meanwhile, and what came of it."""
    before = len(endpoint.asked)
    result = act()
    return len(endpoint.asked) - before, result


def requires_logged(look: Look) -> Drift:
    assert look.tracking_error is None
    assert look.run
    return look.drift


def test_another_name_alone_is_a_notice(watch: Watch, endpoint: Endpoint) -> None:
    """The endpoint answers under another name and as before: said with its date, exit code 0, no alarm, and nothing was asked."""
    asked, look = asked_for(endpoint, lambda: watch.look(2))
    found = requires_logged(look)
    assert (asked, look.exit_code, statuses(found)) == (0, 0, ("no drift", "no drift", "no drift"))
    assert [(one.field, one.a, one.b) for one in found.configuration.since_reference] == [("model.served", "x-0501", "x-1101")]
    (notice,) = [one for one in found.alarms if "model" in one.sentence]
    assert {one.level for one in found.alarms} == {"notice"}, found.alarms
    assert (notice.level, notice.cause) == ("notice", "provider")
    assert f"served model changed from x-0501 to x-1101 on {date(2)}" in notice.sentence
    assert found.provider.task_changes == () or all(one.recent == one.reference for one in found.provider.task_changes)


def test_worse_answers_are_the_providers(watch: Watch, endpoint: Endpoint) -> None:
    """Four of twelve families are lost from one day to the next: found on that day, exit code 1, with the right tasks."""
    endpoint.worse = LOST
    assert asked_for(endpoint, lambda: watch.evaluated(3))[0] == A_DAY
    asked, look = asked_for(endpoint, lambda: watch.look(3))
    found = requires_logged(look)
    assert (asked, look.exit_code, statuses(found)) == (0, 1, ("no drift", "no drift", "drift"))
    assert (found.provider.found_on, found.provider.direction) == (date(3), "worse")
    assert {one.task for one in found.provider.task_changes if one.recent < one.reference} == {f"{name}/t" for name in LOST}
    alarm = alarms(found)["provider"]
    assert set(alarm.tasks) <= {f"{name}/t" for name in LOST}
    assert f"found on {date(3)}" in alarm.sentence
    endpoint.worse = frozenset()
    watch.evaluated(4)
    still = watch.look(4).drift
    assert (still.status, still.provider.found_on) == ("drift", date(3))  # until it is accepted, or explained
    assert run(["drift", BOT, "--store", str(watch.store), "--no-replay", "--no-mlflow"]) == 1


def test_an_edited_contract_is_configuration(watch: Watch, endpoint: Endpoint) -> None:
    """The model is told otherwise and answers worse: the contract is named with its date, and nothing is said of the provider."""
    endpoint.worse = LOST
    watch.with_edited_contract().evaluated(3)
    look = watch.look(3)
    found = requires_logged(look)
    assert (look.exit_code, statuses(found)) == (1, ("drift", "no drift", "could not measure"))
    assert [one.field for one in found.configuration.breaking] == ["contract.digest"]
    assert alarms(found).keys() == {"configuration"}
    assert f"seen on {date(3)}" in alarms(found)["configuration"].sentence
    assert "contract.digest" in found.provider.sentence
    watch.evaluated(4)  # changed back
    back = watch.look(4).drift
    assert [one.difference.field for one in back.configuration.timeline].count("contract.digest") == 2
    assert (back.configuration.status, back.configuration.breaking) == ("no drift", ())
    assert [day.day for day in back.provider.days if not day.used] == [date(3)]


def test_another_awk_is_the_toolchains(watch: Watch, endpoint: Endpoint, elsewhere: Callable[..., tuple[int, Drift]]) -> None:
    """The image changes: the frozen replies say which tasks it breaks, and the server counts no request.

    No day ran with it yet, so that all tasks of all days are compared.
    """
    asked, (code, found) = asked_for(endpoint, lambda: elsewhere(watch, 2, "look"))
    assert (asked, code, found.toolchain.requests) == (0, 1, 0)
    assert statuses(found)[:2] == ("no drift", "drift")
    assert set(found.toolchain.flipped_tasks) == AWK_TASKS == set(alarms(found)["toolchain"].tasks)
    assert found.provider.set_apart == {}
    assert alarms(found).keys() == {"toolchain"}
    assert "toolchain.programs.awk" in {one.difference.field for one in found.configuration.timeline}
    assert all(one.bearing != "breaking" for one in found.configuration.timeline)


def test_worse_answers_and_another_awk_are_told_apart(
    watch: Watch, endpoint: Endpoint, elsewhere: Callable[..., tuple[int, Drift]]
) -> None:
    """Both at once: each has its alarm with its own tasks, and the share of the tool is not the provider's."""
    endpoint.worse = LOST
    asked, (code, found) = asked_for(endpoint, lambda: elsewhere(watch, 3, "run", "look"))
    assert (asked, code, statuses(found)) == (A_DAY, 1, ("no drift", "drift", "drift"))
    assert set(found.toolchain.flipped_tasks) == AWK_TASKS
    assert {one.task for one in found.provider.task_changes if one.recent < one.reference} == {f"{name}/t" for name in LOST}
    assert found.provider.tasks == len(TASKS) - len(AWK_TASKS)
    assert {cause: set(one.tasks) & AWK_TASKS for cause, one in alarms(found).items()} == {
        "toolchain": AWK_TASKS, "provider": set()
    }  # fmt: skip
    assert found.provider.found_on == date(3)


def test_an_edited_contract_and_another_awk_are_told_apart(
    watch: Watch, endpoint: Endpoint, elsewhere: Callable[..., tuple[int, Drift]]
) -> None:
    """Both at once: the contract is configuration, the tool is found by replies to the contract of before, the provider is not
    measured.
    """
    edited = watch.with_edited_contract()
    asked, (code, found) = asked_for(endpoint, lambda: elsewhere(edited, 3, "run", "look"))
    assert (asked, code, statuses(found)) == (A_DAY, 1, ("drift", "drift", "could not measure"))
    assert EDIT in endpoint.asked[-1].body["messages"][0]["content"]
    assert [one.field for one in found.configuration.breaking] == ["contract.digest"]
    assert set(found.toolchain.flipped_tasks) == AWK_TASKS
    assert alarms(found).keys() == {"configuration", "toolchain"}


def test_a_dead_endpoint_is_no_measurement(watch: Watch, endpoint: Endpoint) -> None:
    """On the last day nothing answers: could not measure, exit code 4, neither a drop nor another served model."""
    endpoint.dead = True
    made = watch.evaluated(3)
    assert all(trial.fault for trial in made.facts.trials)
    look = watch.look(3)
    found = requires_logged(look)
    assert (look.exit_code, statuses(found)) == (4, ("no drift", "no drift", "could not measure"))
    assert "100 % of the trials" in found.provider.sentence
    assert [one.b for one in found.configuration.since_reference] == ["x-1101"]
    assert alarms(found) == {}


def test_an_old_measurement_is_none_of_today(watch: Watch) -> None:
    """The daily run stopped eight days ago: could not measure, exit code 4, and the look says so."""
    look = watch.look(10, frozen=False, track=False)
    assert (look.exit_code, look.drift.provider.status) == (4, "could not measure")
    assert f"the newest evaluation is of {date(2)}" in look.drift.provider.sentence


class Stopped(Progress):
    """Somebody presses Ctrl-C after some replies."""

    def __init__(self, after: int) -> None:
        super().__init__(changed=self._stop)
        self._after = after

    def _stop(self, progress: Progress) -> None:
        if progress.trials_done >= self._after:
            raise KeyboardInterrupt


def test_yesterdays_unfinished_run_is_not_gone_on_with(watch: Watch, endpoint: Endpoint) -> None:
    """A run that was interrupted yesterday stays as it is: today is measured as a whole, and yesterday is no day of the watch."""
    with pytest.raises(KeyboardInterrupt):
        watch.evaluated(3, progress=Stopped(5))
    said: list[str] = []
    asked, made = asked_for(endpoint, lambda: watch.evaluated(4, notify=said.append))
    assert asked == A_DAY
    assert any(f"of {date(3)} was not finished: it stays as it is" in sentence for sentence in said)
    assert made.tracking_error is None
    found = watch.look(4, frozen=False, track=False).drift
    assert [point.evaluation for point in found.points][-1] == made.id
    assert [day.day for day in found.provider.days] == [date(1), date(2), date(4)]


def test_a_dead_tracking_server(watch: Watch, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    """A day whose tracking server is dead is kept in the ledger and logged later; a look without it fails and says nothing."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        nobody = f"http://127.0.0.1:{taken.getsockname()[1]}"
        monkeypatch.setenv("MLFLOW_TRACKING_URI", nobody)
        with pytest.raises(TrackerError, match=r"127\.0\.0\.1"):
            watch.look(2)
        assert run(["drift", BOT, "--store", str(watch.store)]) == 5
    monkeypatch.delenv("MLFLOW_TRACKING_URI")
    endpoint.worse = LOST
    made = watch.evaluated(3, track=False)
    assert watch.look(3, frozen=False, track=False).drift.provider.found_on is None
    assert crosspath.log(made.id, store=watch.store).tracking_error is None
    assert watch.look(3, frozen=False, track=False).drift.provider.found_on == date(3)
