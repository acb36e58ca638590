"""Replies that attack the program which carries out a path inside the sandbox: facts, never a fault or a traceback of ours."""

from collections.abc import Sequence

import pytest

from crosspath.app.adapters import make_sandbox
from crosspath.ports import Sandbox
from crosspath.spec import Spec
from crosspath.transports import assemble, preset, watched
from crosspath.types import Delivery, ExecResult, Execution, ReplayJob, ReplayKey, Reply, Task, TrialKey

RUNNERS = ("session", "open-input", "output-waiting", "group-killing", "strict-output", "line-by-line", "split-at-and", "xargs")
TYPED = ("typed", "typed-without-editing", "tmux")


@pytest.fixture(scope="module")
def sandbox() -> Sandbox:
    return make_sandbox(Spec())


def run(sandbox: Sandbox, delivery: Delivery, *, timeout_s: float = 10.0) -> tuple[Sequence[ExecResult], dict[str, bytes | None]]:
    """What the commands of one delivery did, and the files they left."""
    key = ReplayKey(trial=TrialKey(generation="hostile", task="t", index=0), path="p")
    task = Task(id="t", family="t", timeout_s=timeout_s)
    (done,) = sandbox.run([ReplayJob(key=key, task=task, commands=tuple(action.command for action in delivery.actions))])
    assert isinstance(done, Execution), done
    files = {entry.path.decode(): entry.content for entry in done.state.entries}
    return done.results, files


def deliver(name: str, text: str) -> Delivery:
    return assemble(preset(name)).deliver(Reply(text=text))


@pytest.mark.parametrize("name", [*RUNNERS, *TYPED])
def test_killing_the_runner_is_a_result(name: str, sandbox: Sandbox) -> None:
    """A reply that kills everything it can ends the path; what it wrote before is the state."""
    (result,), files = run(sandbox, deliver(name, "echo x > a && kill -9 -1 $PPID"))
    assert files == {"a": b"x\n"}
    assert result.exit_code is None or result.exit_code != 0 or name in (*TYPED, "split-at-and", "group-killing")


@pytest.mark.parametrize("name", ["session", "open-input", "output-waiting", "strict-output", "typed"])
def test_endless_output_is_cut(name: str, sandbox: Sandbox) -> None:
    """A reply that writes for ever is ended by a limit, whoever reads its output in between."""
    (result,), _ = run(sandbox, deliver(name, "echo x > a; yes"), timeout_s=3.0)
    assert result.timed_out or result.limits_hit or result.exit_code != 0 or name == "typed"


@pytest.mark.parametrize("name", RUNNERS)
def test_waiting_for_ever_is_ended_in_time(name: str, sandbox: Sandbox) -> None:
    """A reply that never ends is ended by the path's own time limit or by the task's."""
    (result,), files = run(sandbox, deliver(name, "echo x > a; exec sleep 1000"), timeout_s=2.0)
    assert files == {"a": b"x\n"} or name in ("xargs",)
    assert result.timed_out or result.exit_code == 124


def test_a_reply_can_not_change_the_runner(sandbox: Sandbox) -> None:
    """Our program and its input are read-only inside, and nothing that a reply leaves is imported by the next command."""
    text = (
        'echo "import os; os._exit(0)" > json.py; mkdir inside && touch inside/__init__.py; '
        '(echo x >> "$IN/text") 2>/dev/null || echo kept > a; '
        'for f in /run/crosspath/lib/*/*; do (echo x >> "$f") 2>/dev/null && echo changed > b; done; true'
    )
    (result,), files = run(sandbox, deliver("session", text))
    assert result.exit_code == 0
    assert (files["a"], "b" in files) == (b"kept\n", False)


@pytest.mark.parametrize("name", ["json-string", "jinja", "xml-element", "tokens-requoted", "fenced-block", "sed-replacement"])
@pytest.mark.parametrize("unit", ["'\"\\`$", "{{", "{% raw %}", "<a>", "&amp;", "```\n", "\\u0041", "((", "\n", "|&"])
def test_parsers_meet_hostile_text_in_time(name: str, unit: str, sandbox: Sandbox) -> None:
    """60 kB of what a parser likes least is read or refused within the task's time."""
    (result,), _ = run(sandbox, deliver(name, "exit 0\n" + unit * (60_000 // len(unit))), timeout_s=8.0)
    assert not result.timed_out


def test_templates_run_inside(sandbox: Sandbox) -> None:
    """A template that reaches Python's internals reaches those inside the sandbox: no network, no files of ours."""
    text = "echo {{ cycler.__init__.__globals__.os.listdir('/') | join(' ') }} > a"
    _, files = run(sandbox, deliver("jinja", text))
    assert b"root" not in (files["a"] or b"").split()


def test_forged_hops_tell_nothing_false(sandbox: Sandbox) -> None:
    """Whatever a reply writes where the hops are kept is read as texts or not at all."""
    for forged in ('{"hops": 7, "arrived": "x"}', '{"hops": [[1, 2], ["a"]], "arrived": [3]}', "[" * 100_000, "\\xff", "null"):
        delivery = assemble(preset("session")).deliver(Reply(text=f"printf '%s' '{forged}' > \"$OUT/hops.json\""), watch="hops")
        (result,), _ = run(sandbox, delivery)
        seen = watched(result.report)
        assert (seen.hops, seen.arrived or ()) == ((), ())
