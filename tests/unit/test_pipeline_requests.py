"""The key of a reply: everything that could change it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crosspath.catalogue import contract, request_style, request_style_names
from crosspath.errors import ConfigError
from crosspath.pipeline.requests import build_request
from crosspath.styles import PLAIN
from crosspath.types import Contract, Generation, Message, ModelSpec, OperatingPoint, Prices, RequestStyle, Task

RAW = contract("raw")
TASK = Task(id="a", family="f", instruction="do it")


def _key(generation: Generation | None = None, task: Task = TASK, index: int = 0) -> str:
    return build_request(generation or _generation(), RAW, PLAIN, task, index).key


def _generation(point: OperatingPoint | None = None, **model: object) -> Generation:
    named = ModelSpec.model_validate({"name": "openai/m", **model})
    return Generation(model=named, contract="raw", operating_point=point or OperatingPoint())


@given(st.lists(st.integers(0, 50), min_size=2, max_size=20, unique=True))
def test_repeats_never_share_a_key(indexes: list[int]) -> None:
    """k trials are k requests (https://github.com/EleutherAI/lm-evaluation-harness/pull/3715,
    https://github.com/promptfoo/promptfoo/issues/1431).
    """
    assert len({_key(index=index) for index in indexes}) == len(indexes)


def test_every_sampling_field_is_in_the_key_also_unset() -> None:
    """Changing, setting or unsetting any one gives another key (https://github.com/EleutherAI/lm-evaluation-harness/issues/3881)."""
    points = [
        OperatingPoint(),
        OperatingPoint(temperature=0.0),
        OperatingPoint(temperature=0.7),
        OperatingPoint(top_p=0.5),
        OperatingPoint(max_tokens=32),
        OperatingPoint(max_tokens=None),
        OperatingPoint(seed=1),
        OperatingPoint(effort="low"),
        OperatingPoint(stop=("x",)),
        OperatingPoint(tool_choice="auto"),
        OperatingPoint(parallel_tool_calls=False),
    ]
    assert len({_key(_generation(point)) for point in points}) == len(points)


def test_model_and_endpoint_are_in_the_key() -> None:
    """Two servers, or two models of one, never share a reply (https://github.com/EleutherAI/lm-evaluation-harness/issues/4063)."""
    variants = [{}, {"api_base": "http://a/v1"}, {"api_base": "http://b/v1"}, {"name": "openai/n"}, {"params": {"user": "x"}}]
    assert len({_key(_generation(**variant)) for variant in variants}) == len(variants)


def test_tasks_with_equal_texts_have_their_own_keys() -> None:
    """One template, two fixtures: the same words to the model, and still two trials
    (https://github.com/promptfoo/promptfoo/issues/1492).
    """
    assert _key(task=TASK.model_copy(update={"id": "b"})) != _key()


def test_prices_and_the_name_of_a_key_variable_change_nothing() -> None:
    """What can't change a reply does not cause a second purchase."""
    priced = _generation(prices=Prices(input_usd_per_mtok=1, output_usd_per_mtok=1), api_key_env="A_KEY")
    assert _key(priced) == _key()


def test_a_changed_copy_has_a_digest_of_its_own() -> None:
    """A digest that was asked for before does not stick to a copy with another contract."""
    asked = _generation()
    before = asked.digest
    copied = asked.model_copy(update={"contract": "nested-shell"})
    assert copied.digest == Generation.from_json(copied.to_json()).digest != before
    assert asked.digest == before


CHATTY = request_style("chatty")


def _contents(style: RequestStyle, task: Task = TASK) -> list[tuple[str, str]]:
    """Role and content of each message."""
    generation = _generation().model_copy(update={"request_style": style.name})
    return [(message["role"], message["content"]) for message in build_request(generation, RAW, style, task, 0).messages]


def test_the_plain_request_is_the_one_from_before_there_were_styles() -> None:
    """The key of a plain request never changes, so that replies which were bought earlier are still found."""
    told = Contract(name="c", reference="c", text="Reply with shell text.")
    generation = Generation(model=ModelSpec(name="openai/m"), contract="c")
    key = build_request(generation, told, request_style("plain"), TASK, 0).key
    assert key == "f94f37b9c8ada48c82fc8c0bc9e35a065b550b35402ecbfea1b255257e835f78"


@given(st.text(min_size=1))
def test_the_instruction_is_sent_within_the_words_of_its_style(instruction: str) -> None:
    """The system prompt is the contract's in every style, and the instruction stands in what the user says, byte for byte."""
    task = TASK.model_copy(update={"instruction": instruction})
    for name in request_style_names():
        system, user = _contents(request_style(name), task)
        assert system == ("system", RAW.text)
        assert user[0] == "user"
        assert instruction.encode() in user[1].encode()
        assert (user[1] == instruction) is (name == "plain")


def test_another_style_is_another_request() -> None:
    """No two styles share a reply, and neither do two versions of a style's text under one name."""
    styles = [request_style(name) for name in request_style_names()]
    styles.append(CHATTY.model_copy(update={"text": CHATTY.text + "\nCheers"}))
    keys = {
        build_request(_generation().model_copy(update={"request_style": style.name}), RAW, style, TASK, 0).key for style in styles
    }
    assert len(keys) == len(styles)


def test_the_last_message_of_the_user_is_wrapped() -> None:
    """In a conversation of a task's own what was said before, and what the assistant said last, stay as they are."""
    roles = ("system", "user", "assistant", "user", "assistant")
    task = Task(id="a", family="f", messages=tuple(Message(role=role, content=f"{role}?") for role in roles))
    contents = _contents(CHATTY, task)
    assert contents[1:4] == [("system", "system?"), ("user", "user?"), ("assistant", "assistant?")]
    assert contents[4] == ("user", CHATTY.text.replace("{instruction}", "user?"))
    assert contents[5] == ("assistant", "assistant?")
    assert _contents(PLAIN, task)[4] == ("user", "user?")


def test_a_conversation_without_the_user_has_no_style() -> None:
    """Where nobody asks there is nothing to put in other words: refused with the task's name, unless the style is plain."""
    task = Task(id="odd", family="f", messages=(Message(role="assistant", content="I begin."),))
    with pytest.raises(ConfigError, match="task 'odd' has no message of the user that 'chatty' could wrap"):
        _contents(CHATTY, task)
    assert _contents(PLAIN, task)[1:] == [("assistant", "I begin.")]
