"""Which task, trial and turn a logged call is; what is counted; what is written."""

import json
from pathlib import Path
from typing import Any

import pytest

from crosspath import catalogue
from crosspath.app.import_counts import Counts, counts_text
from crosspath.app.importing import import_replies, naming, recorded_lines
from crosspath.cli.entry import run
from crosspath.errors import ConfigError
from crosspath.logged import LoggedCall
from crosspath.logged.keys import KeyExpression, places_of
from crosspath.logged.recording import recorded_line
from crosspath.tasks import RecordedReply, parse_recorded
from crosspath.types import Reply, Task, ToolCall, Usage

TASKS = [
    Task(id="a/one", family="a", instruction="Do one."),
    Task(id="a/two", family="a", instruction="Do two."),
    Task(id="a/both", family="a", instruction="Do two. And more."),
]
USER = {"role": "user", "content": "Do one."}


def call(text: str = "true", *messages: dict[str, Any], conversation: str | None = None, **entry: Any) -> LoggedCall:
    """A logged call of model m."""
    return LoggedCall(
        "log:1", {"task": "a/one", **entry}, Reply(text=text), model="m", messages=messages, conversation=conversation
    )


def lines(
    *calls: LoggedCall, counts: Counts | None = None, tasks: list[Task] | None = None, **options: Any
) -> list[dict[str, Any]]:
    """The recording of some calls."""
    given: dict[str, Any] = dict.fromkeys(["contract", "contract_key", "model", "model_key"])
    names = naming(**(given | {"task_key": "task", "match_instruction": False} | options))
    return [json.loads(line) for line in recorded_lines(calls, tasks or TASKS, names, counts or Counts())]


def trials(*calls: LoggedCall) -> list[tuple[int, int | None]]:
    return [(line["trial"], line.get("turn")) for line in lines(*calls)]


class TestExpressions:
    @pytest.mark.parametrize(
        ("expression", "found"),
        [
            ("request.metadata.task", "t"),
            ('attributes."x.y"', "dotted"),
            ("tags[1]", "second"),
            ("join('/', ['family', id])", "family/7"),
            ("number", "3"),
            ("match(name, 'task=([a-z/]+)')", "a/b"),
            ("match(name, '[0-9]+')", "17"),
            ("match(missing, 'x') || id", "7"),
            ("request.metadata", None),
            ("length(missing)", None),
            ("flag", None),
            ("empty", None),
        ],
    )
    def test_what_they_find(self, expression: str, found: str | None) -> None:
        """Paths, quoted names, indexes, JMESPath's functions, the group of a regular expression; a text or whole number only."""
        entry: dict[str, Any] = {
            "request": {"metadata": {"task": "t"}}, "attributes": {"x.y": "dotted"}, "tags": ["first", "second"], "id": "7",
            "number": 3, "name": "run 17 task=a/b!", "flag": True, "empty": "",
        }  # fmt: skip
        assert KeyExpression(expression, "--task-key").of(entry) == found

    @pytest.mark.parametrize(
        "expression", ["a..b", "", "a[", "`", "match(name, '(')", "nothing(name)", "match(name)", "[" * 5000]
    )
    def test_what_is_none(self, expression: str) -> None:
        """What is no expression, names no function or no pattern, is the user's error in one line that names the option."""
        with pytest.raises(ConfigError, match=r"^--task-key: ") as refused:
            KeyExpression(expression, "--task-key").of({"name": "n"})
        assert "\n" not in str(refused.value)

    def test_places_are_expressions(self) -> None:
        """Where the id of a task stands is told as an expression that finds it."""
        entry: dict[str, Any] = {"a": [{"b.c": "x"}], 'q"uote': {"d": "x"}, "e": "y"}
        found = sorted(places_of(entry, {"x"}))
        assert found == ['"q\\"uote".d', 'a[0]."b.c"']
        assert [KeyExpression(one, "o").of(entry) for one in found] == ["x", "x"]


class TestMatching:
    def test_by_its_id(self) -> None:
        """Only ids of known tasks match; what is near to one is told, and where ids stand if the expression finds none."""
        counts = Counts()
        found = lines(call(), call(task="a/onee"), call(task=None), call(task=None, other={"id": "a/two"}), counts=counts)
        assert [line["task"] for line in found] == ["a/one"]
        assert counts.unmatched.document() == [
            {"reason": "--task-key finds nothing in it", "count": 2, "examples": ["log:1", "log:1"]},
            {"reason": "its task is not known", "count": 1, "examples": ["log:1: \"a/onee\" (did you mean 'a/one'?)"]},
        ]
        assert counts.suggested() == ["other.id"]

    @pytest.mark.parametrize(
        ("text", "task"),
        [("Do one.", "a/one"), ("Please: Do one.\nNow.", "a/one"), ("Do two. And more.", "a/both"), ("Do three.", None)],
    )
    def test_by_its_instruction(self, text: str, task: str | None) -> None:
        """The task whose instruction is the message of the user's, or stands in it; of one inside of another the longer."""
        found = lines(call("true", {"role": "user", "content": text}), task_key=None, match_instruction=True)
        assert [line["task"] for line in found] == ([task] if task else [])

    def test_two_instructions_in_one_call(self) -> None:
        """A call that fits several tasks is none of theirs."""
        counts = Counts()
        said = call("true", {"role": "user", "content": "Do one. Do two."})
        assert lines(said, task_key=None, match_instruction=True, counts=counts) == []
        assert list(counts.unmatched.counts) == ["it holds the instructions of several tasks"]

    def test_contract_and_model(self) -> None:
        """Told raw, unless an option, an expression, or the contract's own text in the messages says otherwise."""
        text = {"role": "system", "content": catalogue.contract("nested-shell").text}
        assert [line["contract"] for line in lines(call(), call("x", text, USER))] == ["raw", "nested-shell"]
        assert lines(call("x", text), contract="json")[0]["contract"] == "json"
        assert [line["contract"] for line in lines(call(told="json"), call(), contract_key="told")] == ["json"]
        assert lines(call(), model="other")[0]["model"] == "other"
        assert lines(call(by="third"), model_key="by")[0]["model"] == "third"
        assert lines(LoggedCall("x", {"task": "a/one"}, Reply(text="", served_model="served")))[0]["model"] == "served"
        assert lines(LoggedCall("x", {"task": "a/one"}, Reply(text=""))) == []

    def test_options_that_contradict_each_other(self) -> None:
        """Neither a key nor the instruction, or a name twice, is refused."""
        with pytest.raises(ConfigError, match="--task-key: missing"):
            lines(task_key=None)
        with pytest.raises(ConfigError, match="--model: says the same as --model-key"):
            lines(model="m", model_key="m")


class TestTrials:
    def test_each_call_is_a_trial(self) -> None:
        """Numbered from 0 for each model, task and contract, in the order of the log."""
        assert trials(call("a", USER), call("b", USER), call("c", USER, task="a/two"), call("d")) == [
            (0, 0),
            (1, 0),
            (0, 0),
            (2, None),
        ]

    def test_messages_that_go_on(self) -> None:
        """A call whose messages begin with another one's messages and reply is its next turn, whatever stands in between."""
        first = [USER, {"role": "assistant", "content": "ls"}, {"role": "tool", "content": "x"}]
        second = [*first, {"role": "assistant", "content": [{"type": "text", "text": "cat"}]}, USER]
        found = trials(call("ls", USER), call("other", USER), call("cat", *first), call("end", *second))
        assert found == [(0, 0), (1, 0), (0, 1), (0, 2)]

    def test_history_that_is_not_in_the_log(self) -> None:
        """Where earlier replies were sent that the log does not have, the turn is not known."""
        assert trials(call("x", USER, {"role": "assistant", "content": "?"}, USER)) == [(0, None)]

    def test_one_conversation(self) -> None:
        """Calls of one trace are turns of a trial; the same messages once more are another draw."""
        more = [USER, {"role": "assistant", "content": "summary"}]
        found = trials(call("a", USER, conversation="t"), call("b", *more, conversation="t"), call("c", USER, conversation="t"),
                       call("d", USER, conversation="u"))  # fmt: skip
        assert found == [(0, 0), (0, 1), (1, 0), (2, 0)]


class TestWriting:
    REPLIES = (
        Reply(text="a\x7f\ud800\u2028\n\0é"),
        Reply(tool_calls=(ToolCall(id="c", name="run", arguments="{no"),), fidelity="reserialised", usage=Usage(prompt_tokens=3)),
        Reply(text=None, finish_reason="length", latency_s=0.25, served_model="s", fingerprint="f"),
        Reply(text=""),
    )

    @pytest.mark.parametrize("reply", REPLIES)
    def test_a_line_is_read_back_as_it_was(self, reply: Reply) -> None:
        """What is written is one line of ASCII, and reading it gives the same reply; what is not known is left out."""
        recorded = RecordedReply(model="m", task="t", trial=2, turn=1, messages=(USER,), reply=reply)
        line = recorded_line(recorded)
        assert line.isascii()
        assert line.isprintable()
        assert parse_recorded(line, "x") == (recorded,)
        assert (
            not {"usage", "cost_usd"} & json.loads(recorded_line(RecordedReply(model="m", task="t", reply=Reply(text="")))).keys()
        )

    def test_what_no_recording_can_hold(self) -> None:
        """A reply that the format refuses is counted with the reason, and the recording stays readable."""
        counts = Counts()
        bad = LoggedCall(
            "log:1", {"task": "a/one"}, Reply(tool_calls=(ToolCall(id="\ud800", name="n", arguments=""),)), model="m"
        )
        assert [line["trial"] for line in lines(bad, call(), counts=counts)] == [0]
        assert "can't be a recorded reply: tool_calls[0].id" in next(iter(counts.without_reply.counts))

    def test_hostile_names_stay_in_their_line(self) -> None:
        """Names from a log are one line of text each, without control characters."""
        counts = Counts()
        lines(call(), model="m\n\x1b[31m", counts=counts)
        assert "\nmodel m\\n\\x1b[31m: 1 replies\n" in counts_text(counts) + "\n"

    def test_reasons_do_not_grow_without_end(self) -> None:
        """A log that has a new reason in each line makes one more line of text, not thousands."""
        counts = Counts()
        lines(*(LoggedCall("x", {}, problem=f"reason {number}") for number in range(1000)), counts=counts)
        assert len(counts_text(counts).splitlines()) < 20
        assert "other reasons" in counts_text(counts)


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A log of two calls, in the directory that the program stands in."""
    monkeypatch.chdir(tmp_path)
    said = [{"task": task, "messages": [USER], "model": "m", "response": "true"} for task in ("exact-file/word", "no/task")]
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in said))
    return tmp_path / "log.jsonl"


ARGUMENTS = ["import", "log.jsonl", "--from", "openai", "--task-key", "task"]


class TestCommand:
    def test_to_standard_output(self, log: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """Without --out the recording is all that is printed; the counts go to standard error."""
        assert run(ARGUMENTS) == 0
        said = capsys.readouterr()
        assert parse_recorded(said.out, "x")[0].task == "exact-file/word"
        assert said.err.startswith(
            "2 calls read: 1 matched (tasks: 1), 1 unmatched, 0 without a reply; 1 of the matched ones are lossy"
        )

    def test_to_a_file(self, log: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """With --out the counts are printed. The same import again changes nothing; another one needs --force."""
        assert run([*ARGUMENTS, "--out", "replies.jsonl"]) == 0
        assert capsys.readouterr().out.endswith("wrote replies.jsonl\n")
        written = Path("replies.jsonl").stat()
        assert run([*ARGUMENTS, "--out", "replies.jsonl"]) == 0
        assert Path("replies.jsonl").stat().st_mtime_ns == written.st_mtime_ns
        assert run([*ARGUMENTS, "--out", "replies.jsonl", "--model", "n"]) == 2
        assert "exists and holds something else" in capsys.readouterr().err
        assert Path("replies.jsonl").stat().st_mtime_ns == written.st_mtime_ns
        assert run([*ARGUMENTS, "--out", "replies.jsonl", "--model", "n", "--force"]) == 0
        assert parse_recorded(Path("replies.jsonl").read_text(), "x")[0].model == "n"
        assert sorted(path.name for path in log.parent.iterdir()) == ["log.jsonl", "replies.jsonl"]

    def test_without_messages(self, log: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """Messages are kept unless they are not wanted; a recording that no spec could name is told."""
        assert run(ARGUMENTS) == 0
        assert parse_recorded(capsys.readouterr().out, "x")[0].messages == (USER,)
        assert run([*ARGUMENTS, "--no-messages"]) == 0
        assert json.loads(capsys.readouterr().out).keys() == {"model", "task", "contract", "trial", "turn", "reply"}
        assert "too long for a spec to name it" in counts_text(Counts(too_long=True))

    def test_counts_as_json(self, log: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """--json prints the counts with their reasons."""
        assert run([*ARGUMENTS, "--json"]) == 0
        document = json.loads(capsys.readouterr().out)
        assert (document["read"], document["matched"], document["file"]) == (2, 1, None)
        assert [one["reason"] for one in document["losses"]] == ["no finish reason", "no usage"]

    def test_nothing_matches(self, log: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """Where nothing matches, nothing is written, the exit code is 2, and it says where ids of tasks stand."""
        assert run([*ARGUMENTS[:-1], "nowhere", "--out", "x.jsonl"]) == 2
        said = capsys.readouterr().out
        assert "ids of tasks stand at: task" in said
        assert not Path("x.jsonl").exists()

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (["import", "log.jsonl", "--from", "openai"], "--task-key: missing"),
            (["import", "log.jsonl", "--from", "wandb", "--task-key", "t"], "--from: 'wandb' is no kind of log"),
            (["import", "no.jsonl", "--from", "openai", "--task-key", "t"], "no.jsonl: no such file"),
            (["import", ".", "--from", "inspect", "--task-key", "t"], "has no file that ends in .eval or .json"),
            (["import", "empty.jsonl", "--from", "openai", "--task-key", "t"], "empty.jsonl: holds no model call"),
            (["import", "noise.jsonl", "--from", "openai", "--task-key", "t"], "noise.jsonl: nothing in it can be read"),
            (["import", "log.jsonl", "--from", "openai", "--task-key", "a..b"], "--task-key: 'a..b' is no JMESPath"),
            ([*ARGUMENTS, "--out", "no/where.jsonl"], "no/where.jsonl: --out: can't be written"),
            ([*ARGUMENTS, "--out", "."], "can't be read"),
            ([*ARGUMENTS, "--file", "no.yaml"], "no.yaml"),
        ],
    )
    def test_complaints(self, log: Path, arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
        """Each mistake is one line that names what is wrong, with exit code 2."""
        (log.parent / "empty.jsonl").write_text("\n")
        (log.parent / "noise.jsonl").write_bytes(b"\x00\xff\n" * 3)
        assert run(arguments) == 2
        error = capsys.readouterr().err
        assert said in error
        assert error.count("\n") == 1

    def test_recordings_can_be_read_again(self, log: Path) -> None:
        """A recording is a log, too: its own task, contract and model count."""
        with import_replies(["log.jsonl"], "openai", naming_of("task"), out=Path("r.jsonl")) as done:
            lines = list(done.lines())
        with import_replies(["r.jsonl"], "recorded", naming_of("task")) as again:
            assert list(again.lines()) == lines


def naming_of(key: str) -> Any:
    return naming(task_key=key, match_instruction=False, contract=None, contract_key=None, model=None, model_key=None)
