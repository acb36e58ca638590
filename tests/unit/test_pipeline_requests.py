"""The key of a reply: everything that could change it."""

from hypothesis import given
from hypothesis import strategies as st

from crosspath.catalogue import contract
from crosspath.pipeline.requests import build_request
from crosspath.styles import PLAIN
from crosspath.types import Generation, ModelSpec, OperatingPoint, Prices, Task

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
