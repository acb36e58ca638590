"""Inspect's logs, as Inspect itself has written them (scripts/write_logs.py), and hostile ones."""

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from crosspath.app.logged_sources import read_logged
from crosspath.errors import ConfigError
from crosspath.logged import LoggedCall, zipped
from crosspath.logged.inspect_logs import sample_calls
from crosspath.logged.shapes import Unreadable
from crosspath.logged.zipped import Archive

LOGS = Path(__file__).parents[1] / "data" / "logged"


def read(name: str) -> list[LoggedCall]:
    """The calls of one of Inspect's own logs."""
    return list(read_logged([str(LOGS / name)], "inspect"))


def shown(calls: list[LoggedCall]) -> list[tuple[Any, ...]]:
    """Task, epoch, text and calls of each reply."""
    return [
        (call.entry["sample"]["metadata"]["task"], call.entry["sample"]["epoch"], call.reply.text, len(call.reply.tool_calls))
        for call in calls
        if call.reply
    ]


PRICE = "printf '%s\\n' 'Two seats for $40, three for $55' > offer.txt"
SHOWN = [
    ("exact-file/word", 1, "echo ready > status.txt", 0),
    ("exact-file/price", 1, PRICE, 0),
    ("other/task", 1, "echo hello", 0),
    ("exact-file/remark", 1, "", 1),
    ("exact-file/remark", 1, "Done.", 0),
]


def test_a_json_log() -> None:
    """Each model event is a call, with its sample's metadata, the messages sent, usage, latency and finish reason."""
    calls = read("inspect-mock.json")
    assert shown(calls) == SHOWN
    call = calls[3]
    assert call.reply is not None
    assert [message["role"] for message in call.messages] == ["system", "user"]
    assert (call.model, call.reply.finish_reason, call.reply.served_model) == ("mockllm/model", "tool_calls", "mockllm/model")
    assert call.reply.usage is not None
    assert (call.reply.usage.prompt_tokens, call.reply.usage.completion_tokens) == (20, 7)
    assert call.reply.latency_s is not None
    assert calls[3].conversation == calls[4].conversation != calls[2].conversation


def test_an_eval_log_packed_with_zstandard() -> None:
    """The zip that Inspect writes by default is read, first epochs first; what the scorer asked is no reply."""
    calls = read("inspect-mock.eval")
    assert shown(calls) == SHOWN + [(task, 2, text, number) for task, _, text, number in SHOWN]
    assert [call.problem for call in calls if call.reply is None] == ["asked by a scorer: no reply to the sample"] * 8


def test_argument_strings_only_where_the_provider_sent_them() -> None:
    """Inspect parses arguments: its mock has objects only (lossy), OpenAI's raw response has the string with its two blanks."""
    (mocked,) = [call for call in read("inspect-mock.json") if call.reply and call.reply.tool_calls]
    (raw,) = [call for call in read("inspect-openai.eval") if call.reply and call.reply.tool_calls]
    assert mocked.reply is not None
    assert raw.reply is not None
    assert mocked.losses == ("arguments of a tool call were logged as an object, not as the text that came",)
    assert mocked.reply.fidelity == "reserialised"
    assert (raw.losses, raw.reply.fidelity) == ((), "raw")
    assert raw.reply.tool_calls[0].arguments == '{"command":  "printf done > remark.md" }'


def sample(*events: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "id": "s",
        "epoch": 1,
        "metadata": {},
        "events": [{"event": "model", "model": "m"} | event for event in events],
    } | more


def output(text: object, **choice: Any) -> dict[str, Any]:
    return {
        "output": {"model": "m", "choices": [{"message": {"role": "assistant", "content": text}, "stop_reason": "stop"} | choice]}
    }


def calls_of(sample: dict[str, Any]) -> list[LoggedCall]:
    return list(sample_calls({"eval": {"task": "t"}}, sample, "log.json"))


def test_long_texts_stand_in_their_places() -> None:
    """Inspect keeps long texts apart; one that is not there is a loss, and the reply says what the log has."""
    there, missing = calls_of(
        sample(output("attachment://" + "a" * 32), output("attachment://" + "b" * 32), attachments={"a" * 32: "echo long"})
    )
    assert there.reply is not None
    assert (there.reply.text, there.losses) == ("echo long", ("no usage",))
    assert "a text that the log stores apart is not in it" in missing.losses


def test_what_else_is_lost_or_no_reply() -> None:
    """Errors, calls that never ended and arguments that were no JSON are told; a cached reply is no draw of its own."""
    tool = {"id": "c", "function": "run", "arguments": {}, "parse_error": "bad"}
    failed, pending, broken, cached, cut = calls_of(
        sample(
            {"error": "429 for sk-1"},
            {"pending": True},
            output("", message={"content": "", "tool_calls": [tool]}),
            output("a") | {"cache": "read"},
            output("a", stop_reason="max_tokens"),
        )
    )
    assert (failed.problem, pending.problem) == ("the call failed", "the call never ended")
    assert "arguments that were no JSON are not in the log as they came" in broken.losses
    assert "read from Inspect's cache, so no draw of its own" in cached.losses
    assert cut.reply is not None
    assert cut.reply.finish_reason == "length"
    assert calls_of(sample())[0].problem == "a sample without model events"


def test_older_logs_say_steps() -> None:
    """Before spans, Inspect marked the scorer's calls with steps."""
    events = [
        {"event": "step", "action": "begin", "type": "scorer"},
        output("GRADE: C"),
        {"event": "step", "action": "end", "type": "scorer"},
        output("a"),
    ]
    assert [call.problem for call in calls_of(sample(*events))] == ["asked by a scorer: no reply to the sample", None]


def packed(members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> io.BytesIO:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file


def test_older_eval_logs_are_deflated(tmp_path: Path) -> None:
    """A zip as older versions wrote it, while the evaluation was still running, is read; a damaged sample is told."""
    members = {"_journal/start.json": b'{"eval": {}}', "samples/s_epoch_1.json": json.dumps(sample(output("a"))).encode()}
    (tmp_path / "old.eval").write_bytes(packed(members | {"samples/t_epoch_1.json": b"{"}).getvalue())
    good, bad = read_logged([str(tmp_path)], "inspect")
    assert good.reply is not None
    assert good.reply.text == "a"
    assert bad.problem == "not readable as JSON"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"PK\3\4 is no archive", "no zip file"),
        (packed({"a.txt": b""}).getvalue(), "is no log of Inspect"),
        (b'{"samples": []}', "is no log of Inspect"),
        (b"\x89PNG", "not UTF-8 text"),
        (b"{", "not readable as JSON"),
    ],
)
def test_what_is_no_log(tmp_path: Path, content: bytes, said: str) -> None:
    """A file that is no log of Inspect is refused in one line that names it."""
    (tmp_path / "x.eval").write_bytes(content)
    with pytest.raises(ConfigError, match=said) as refused:
        list(read_logged([str(tmp_path / "x.eval")], "inspect"))
    assert str(refused.value).startswith(str(tmp_path / "x.eval"))


def test_a_bomb_is_not_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A member that unpacks to more than the limit is refused after that many bytes; so is the one that exceeds the sum."""
    monkeypatch.setattr(zipped, "MAX_MEMBER_BYTES", 1000)
    monkeypatch.setattr(zipped, "MAX_TOTAL_BYTES", 1500)
    archive = Archive(packed({"bomb": bytes(10**7), "a": bytes(900), "b": bytes(900)}))
    with pytest.raises(Unreadable, match="unpacks to more than"):
        archive.read("bomb")
    assert archive.read("a") == bytes(900)
    with pytest.raises(Unreadable, match="unpacks to more than"):
        archive.read("b")


def test_a_bomb_of_zstandard_is_not_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same for Zstandard."""
    with (LOGS / "inspect-mock.eval").open("rb") as file:
        archive = Archive(file)
        assert json.loads(archive.read("header.json"))["eval"]["task"] == "shell"
        monkeypatch.setattr(zipped, "MAX_MEMBER_BYTES", 1000)
        with pytest.raises(Unreadable, match="unpacks to more than"):
            archive.read("header.json")


def test_damage_is_seen() -> None:
    """A flipped byte inside of a member is damage, not another log."""
    content = bytearray((LOGS / "inspect-mock.eval").read_bytes())
    content[200] ^= 0xFF
    archive = Archive(io.BytesIO(bytes(content)))
    with pytest.raises(Unreadable, match="is damaged"):
        archive.read(archive.names[0])


def test_references_cannot_make_a_small_log_large() -> None:
    """Ranges that name the same messages over and over are taken for what they are."""
    pool = {"messages": [{"role": "user", "content": "x" * 1000}] * 50}
    (call,) = calls_of(sample(output("a") | {"input": [], "input_refs": [[0, 50]] * 100_000}, events_data=pool))
    assert call.messages == ()
