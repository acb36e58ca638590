"""What every ``Model`` owes the pipeline; the same tests over the fake and the real adapter."""

import asyncio
import pickle
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from crosspath.adapters.litellm_model import LitellmModel
from crosspath.errors import ModelError
from crosspath.ports import Model
from crosspath.testing.model import ScriptedModel, Turn
from crosspath.testing.openai_server import OpenAIServer, answer, fails, silent
from crosspath.testing.openai_server import Turn as ServerTurn
from crosspath.types import Reply, Request, ToolCall, TrialKey, Usage

Ask = Callable[..., Reply]
TEXT = "printf '%s' \"a\\b\" > \U0001f600; \ud800 \x00 \u202e"
USAGE = Usage(prompt_tokens=10, completion_tokens=5)
BROKEN = '{"command": "echo \\u0041'


def request(endpoint: str | None, model: str = "openai/asked", key: str = "k", timeout_s: float = 30.0) -> Request:
    """A small request; everything that a test does not speak of has a default."""
    return Request(
        key=key,
        trial=TrialKey(generation="g", task="t", index=0),
        contract="raw",
        endpoint=endpoint,
        model=model,
        messages=({"role": "user", "content": "hi"},),
        params={"temperature": 0.0, "max_tokens": 16, "seed": None},
        timeout_s=timeout_s,
    )


async def _once(model: Model, asked: Request) -> Reply:
    try:
        return await model.generate(asked)
    finally:
        if isinstance(model, LitellmModel):
            await model.aclose()


class ModelContract:
    """Each subclass says how a model comes to a given turn."""

    @pytest.fixture
    def ask(self) -> Iterator[Ask]:
        raise NotImplementedError

    def test_text_comes_back_exactly(self, ask: Ask) -> None:
        """Quotes, NUL, lone surrogates and direction marks in a reply's text survive."""
        assert ask(Reply(text=TEXT, finish_reason="stop")).text == TEXT

    def test_broken_arguments_come_back_exactly(self, ask: Ask) -> None:
        """Argument strings of tool calls are never parsed, mended or dropped."""
        calls = (ToolCall(id="call_0", name="run_shell", arguments=BROKEN), ToolCall(id="call_1", name="x", arguments="{ }"))
        reply = ask(Reply(tool_calls=calls, finish_reason="tool_calls"))
        assert (reply.tool_calls, reply.text, reply.fidelity) == (calls, None, "raw")

    def test_no_text_and_empty_text_differ(self, ask: Ask) -> None:
        """None and the empty text are two different replies."""
        assert (ask(Reply(finish_reason="length")).text, ask(Reply(text="", finish_reason="stop")).text) == (None, "")

    def test_finish_reason_and_usage(self, ask: Ask) -> None:
        """Finish reason and token counts are the server's."""
        reply = ask(Reply(text="x", finish_reason="length", usage=USAGE))
        assert (reply.finish_reason, reply.usage) == ("length", USAGE)

    def test_unknown_usage_is_none(self, ask: Ask) -> None:
        """A server that sends no usage gives None, never zeros."""
        assert ask(Reply(text="x", finish_reason="stop")).usage is None

    def test_an_error_is_a_model_error(self, ask: Ask) -> None:
        """Whatever goes wrong arrives as a ModelError that says whether to try again."""
        with pytest.raises(ModelError) as caught:
            ask(ModelError("wait", type_="rate_limit", retryable=True, retry_after_s=7.0))
        assert (caught.value.type, caught.value.retryable, caught.value.retry_after_s) == ("rate_limit", True, 7.0)


class TestScriptedModel(ModelContract):
    @pytest.fixture
    def ask(self) -> Ask:
        def ask(turn: Turn) -> Reply:
            return asyncio.run(_once(ScriptedModel({"t": turn}), request(None)))

        return ask

    def test_turns_follow_each_other(self) -> None:
        """A sequence gives one turn per attempt and stays at its last one."""
        model = ScriptedModel({"k": [ModelError("no"), Reply(text="yes")]})
        with pytest.raises(ModelError):
            asyncio.run(model.generate(request(None)))
        assert [asyncio.run(model.generate(request(None))).text for _ in range(2)] == ["yes", "yes"]
        assert len(model.requests) == 3

    def test_what_is_not_scripted_is_not_recorded(self) -> None:
        """A request that the script does not know is an error and never a made-up reply."""
        with pytest.raises(ModelError, match="nothing scripted") as caught:
            asyncio.run(ScriptedModel({}).generate(request(None)))
        assert caught.value.type == "not_recorded"


class TestOverHttp(ModelContract):
    @pytest.fixture
    def ask(self) -> Iterator[Ask]:
        with ExitStack() as stack:

            def ask(turn: Turn) -> Reply:
                server = stack.enter_context(OpenAIServer([as_served(turn)]))
                return asyncio.run(_once(LitellmModel(), request(server.url)))

            yield ask

    def test_silence_ends_at_the_deadline(self) -> None:
        """A server that accepts and says nothing costs the timeout and no more, after one request."""
        with OpenAIServer(["first", silent()]) as server:
            asyncio.run(_once(LitellmModel(), request(server.url)))  # litellm's first call takes longer than the deadline below
            with pytest.raises(ModelError, match=r"no reply within 0\.3 s") as caught:
                asyncio.run(_once(LitellmModel(), request(server.url, timeout_s=0.3)))
            assert (caught.value.type, caught.value.retryable, len(server.requests)) == ("timeout", True, 2)


@pytest.mark.parametrize("name", ["baseline/oracle", "recorded/a/b.jsonl"])
class TestFromAnswers(ModelContract):
    @pytest.fixture
    def ask(self, name: str) -> Ask:
        def ask(turn: Turn) -> Reply:
            if isinstance(turn, ModelError):
                raise turn  # a stored reply can't fail
            return asyncio.run(_once(pickle.loads(pickle.dumps(LitellmModel({"k": turn}))), request(None, name)))

        return ask

    def test_everything_stored_comes_through(self, ask: Ask) -> None:
        """What was recorded comes back unchanged; only the cost is zero, for nothing was bought."""
        stored = Reply(
            text="\ud800",
            fidelity="reserialised",
            finish_reason="odd",
            usage=USAGE,
            cost_usd=3.0,
            latency_s=2.0,
            served_model="m",
        )
        assert ask(stored) == stored.model_copy(update={"cost_usd": 0.0})

    def test_a_missing_reply_is_not_recorded(self, name: str) -> None:
        """A request without a stored reply is a ModelError that no retry will mend."""
        with pytest.raises(ModelError, match="no reply for task t, contract raw, trial 0") as caught:
            asyncio.run(_once(LitellmModel({"other": Reply()}), request(None, name)))
        assert (caught.value.type, caught.value.retryable) == ("not_recorded", False)

    def test_two_models_in_one_process_keep_apart(self, name: str) -> None:
        """Models with different answers for the same key don't see each other's, even at the same time."""

        async def both() -> list[Reply]:
            models = [LitellmModel({"k": Reply(text=str(number))}) for number in range(20)]
            return list(await asyncio.gather(*(model.generate(request(None, name)) for model in models)))

        assert [reply.text for reply in asyncio.run(both())] == [str(number) for number in range(20)]


def as_served(turn: Turn) -> ServerTurn:
    """The same turn, as a server gives it."""
    if isinstance(turn, ModelError):
        return fails(429, retry_after=f"{turn.retry_after_s:g}")
    usage = turn.usage and (turn.usage.prompt_tokens or 0, turn.usage.completion_tokens or 0)
    calls = [(call.name, call.arguments) for call in turn.tool_calls]
    return answer(turn.text, tool_calls=calls, finish_reason=turn.finish_reason, usage=usage)
