"""The noise floor: exact where it tests, silent about load where it can't know, and faults are no differing replies."""

from collections.abc import Sequence
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import fisher_exact

from crosspath.analysis.noise import Repeats, load_p, needed, noise_floor, strata, stratified_p, unseen, usual_replies
from crosspath.reports.noise_words import floor_lines, floor_rows, floor_title
from crosspath.types import Attempt, Fault, Reply, Request, ToolCall, TrialKey, Usage
from crosspath.types.noise import Load, NoiseFloor, NoiseRow

Said = str | Fault | None
"""A reply's text, a fault, or nothing seen yet."""


def request_of(task: str = "t", temperature: float | None = 0.0) -> Request:
    """A request at a temperature."""
    key = TrialKey(generation="g", task=task, index=0)
    return Request(
        key=task, trial=key, contract="raw", endpoint="http://x", model="openai/m", messages=(), timeout_s=1,
        params={"temperature": temperature},
    )  # fmt: skip


def row(said: Said, load: Load, repeat: int, task: str = "t", at_once: int = 16) -> NoiseRow:
    """One repeat."""
    fault = said if isinstance(said, Fault) else None
    attempt = Attempt(
        request_key=task, number=repeat + (1000 if load == "together" else 0), session=1, started_at=float(repeat),
        ended_at=None if said is None else repeat + 1.0, fault=fault,
        usage=Usage(prompt_tokens=10, completion_tokens=5) if isinstance(said, str) else None,
    )  # fmt: skip
    reply = Reply(text=said, served_model="m") if isinstance(said, str) else None
    in_flight = 1 if load == "alone" else at_once
    body = "b" if reply else None
    return NoiseRow(
        generation="g", task=task, load=load, repeat=repeat, in_flight=in_flight, attempt=attempt, reply=reply, body=body
    )


def rows_of(alone: Sequence[Said], together: Sequence[Said], task: str = "t") -> list[NoiseRow]:
    """The repeats of one task."""
    loads: tuple[tuple[Load, Sequence[Said]], ...] = (("alone", alone), ("together", together))
    return [row(said, load, repeat, task) for load, saids in loads for repeat, said in enumerate(saids)]


def floor_of(alone: Sequence[Said], together: Sequence[Said], temperature: float | None = 0.0) -> NoiseFloor:
    """The noise floor of one request."""
    rows = rows_of(alone, together)
    repeats = Repeats(max(len(alone), len(together)), 16, rows)
    return noise_floor(["a"], [request_of(temperature=temperature)], repeats, [one.attempt for one in rows])


def test_replies_that_differ_only_under_load_are_called_so() -> None:
    """A server that flips a character in 2 % of replies under load, and in none alone, is found with 400 repeats.

    https://github.com/EleutherAI/lm-evaluation-harness/issues/1645, https://github.com/vllm-project/vllm/issues/23138,
    https://github.com/vllm-project/vllm/issues/53257
    """
    found = floor_of(["echo 5"] * 400, ["echo 6"] * 8 + ["echo 5"] * 392)
    assert found.flag == "non-deterministic under load"
    assert (found.together.differing, found.together.share.value, found.alone.differing) == (8, 0.02, 0)
    assert found.p_value == pytest.approx(2 * 0.00373, abs=1e-4)
    assert found.example is not None
    assert (found.example.usual, found.example.other, found.example.at) == ("echo 5", "echo 6", 5)
    assert "load" in floor_title(found)


def test_a_deterministic_endpoint_is_not_accused() -> None:
    """All replies alike: nothing is flagged, and it is said how many could differ and still go unseen."""
    found = floor_of(["echo 5"] * 30, ["echo 5"] * 30)
    assert found.flag == "no difference seen"
    assert found.p_value == 1.0
    assert found.alone.unseen == pytest.approx(0.0950, abs=1e-4)
    assert found.example is None
    (line,) = floor_lines(found)
    assert "Up to 9.5 % of replies alone, and 9.5 % with 16 at once, could differ and still go unseen" in line


@pytest.mark.parametrize(("alone", "together"), [(3, 4), (4, 3), (0, 1), (5, 0), (0, 5)])
def test_load_is_not_named_where_the_test_does_not_show_it(alone: int, together: int) -> None:
    """Replies differ, but chance alone could have split them so; it is said what would have been enough."""
    found = floor_of(["x"] * alone + ["y"] * (30 - alone), ["x"] * together + ["y"] * (30 - together))
    assert found.flag == "non-deterministic"
    assert found.needed == 6
    text = " ".join(floor_lines(found))
    assert "is not shown (exact test, p = " in text
    assert ("at least 6 of 30 must differ under load" in text) == (alone == 0)
    assert "Noise floor: with nothing changed" in text


def test_fewer_differences_under_load_are_no_noise_by_load() -> None:
    """Significantly fewer under load: replies differ, and load is not to blame."""
    found = floor_of(["x"] * 10 + ["y"] * 20, ["y"] * 30)
    assert found.p_value is not None
    assert found.p_value < 0.05
    assert found.flag == "non-deterministic"


def test_a_load_that_changes_every_reply_is_seen() -> None:
    """Each load agrees with itself, and not with the other one."""
    found = floor_of(["a"] * 10, ["b"] * 10)
    assert found.flag == "non-deterministic under load"
    assert (found.alone.differing, found.together.differing) == (0, 10)


def test_faults_are_counted_apart() -> None:
    """A fault is no differing reply: it is missing, by its type, and not in the share."""
    fault = Fault(boundary="model", type="rate_limit", message="slow down")
    found = floor_of(["x"] * 5 + [fault] * 5, ["x"] * 8 + [None] * 2)
    assert found.flag == "no difference seen"
    assert (found.alone.replies, found.alone.faults, found.alone.share.missing) == (5, {"rate_limit": 5}, 5)
    assert (found.together.replies, found.together.faults) == (8, {"in_flight": 2})
    assert found.usages.rows == 20
    assert floor_rows(found)[0][3] == "5 rate_limit"


def test_without_replies_nothing_is_measured() -> None:
    """Under one load no reply came: no flag, no p, and the server's words."""
    fault = Fault(boundary="model", type="auth", message="status 401: no")
    found = floor_of(["x"] * 5, [fault] * 5)
    assert (found.flag, found.p_value, found.together.share.value) == ("not measured", None, None)
    assert floor_lines(found) == ["too few replies came (5 alone, 0 with 16 at once): status 401: no"]


def test_ids_of_calls_make_no_other_reply() -> None:
    """Tool calls are compared by name and arguments, to the byte; ids are new each time."""
    replies = [Reply(tool_calls=(ToolCall(id=str(n), name="run", arguments='{"a": 1}'),)) for n in range(3)]
    other = Reply(tool_calls=(ToolCall(id="0", name="run", arguments='{"a":1}'),))
    rows = [row("", "alone", place).model_copy(update={"reply": reply}) for place, reply in enumerate([*replies, other])]
    together = [row("", "together", place).model_copy(update={"reply": replies[0]}) for place in range(4)]
    found = noise_floor(["a"], [request_of()], Repeats(4, 2, rows + together), [])
    assert (found.alone.distinct, found.alone.differing) == (2, 1)


def test_no_text_is_not_an_empty_text() -> None:
    """None and an empty text are two replies."""
    rows = rows_of(["", ""], ["", ""])
    changed = [rows[0].model_copy(update={"reply": Reply(text=None)}), *rows[1:]]
    assert len(usual_replies(changed)) == 1
    found = noise_floor(["a"], [request_of()], Repeats(2, 16, changed), [])
    assert found.alone.differing == 1


counts = st.tuples(st.integers(0, 6), st.integers(0, 6), st.integers(0, 6), st.integers(0, 6)).map(
    lambda c: (c[0], c[0] + c[1], c[2], c[2] + c[3])
)


@settings(max_examples=60)
@given(counts)
def test_one_task_is_tested_as_fisher_does(stratum: tuple[int, int, int, int]) -> None:
    """The stratified test of one stratum is Fisher's."""
    differing_alone, alone, differing, together = stratum
    if not (alone and together):
        return
    table = [[differing_alone, alone - differing_alone], [differing, together - differing]]
    expected = float(fisher_exact(table).pvalue)  # pyright: ignore
    assert stratified_p([stratum]) == pytest.approx(expected)
    assert load_p([stratum]) == pytest.approx(expected)
    assert stratified_p([stratum, (0, 3, 0, 2)]) == pytest.approx(expected)  # a task without a difference says nothing


def test_strata_are_added_up() -> None:
    """Four tasks with two differences each, all under load, say together what one can't."""
    one = (0, 4, 2, 4)
    assert stratified_p([one]) > 0.05
    assert stratified_p([one] * 4) < 0.01
    assert load_p([(0, 0, 1, 4)]) is None


@settings(max_examples=40)
@given(st.lists(st.sampled_from("aaabc"), min_size=8, max_size=8))
def test_chance_alone_names_load_in_at_most_5_of_100(replies: list[str]) -> None:
    """Over every way to deal eight replies to the two loads, at most 5 % are called significant: choosing the most frequent
    reply from the same data does not spoil the test."""
    significant = total = 0
    for chosen in combinations(range(8), 4):
        alone = [replies[place] for place in range(8) if place not in chosen]
        rows = rows_of(alone, [replies[place] for place in chosen])
        p_value = load_p(strata(Repeats(4, 16, rows), usual_replies(rows)))
        assert p_value is not None
        significant += p_value < 0.05
        total += 1
    assert significant <= 0.05 * total


def test_how_many_differences_it_takes() -> None:
    """Six of thirty are the least that the test takes for load; with two repeats no number would do."""
    assert needed(30, 30) == 6
    assert load_p([(0, 30, 6, 30)]) < 0.05  # pyright: ignore[reportOptionalOperand]
    assert load_p([(0, 30, 5, 30)]) > 0.05  # pyright: ignore[reportOptionalOperand]
    assert needed(2, 2) is None
    assert unseen(1) == pytest.approx(0.95)


def test_what_else_could_be_the_reason_is_said() -> None:
    """Several served models or bodies, sampling, and a load that was not reached stand beside the verdict."""
    rows = rows_of(["x", "y", "x"], ["x", "x", "y"])
    other = Reply(text="x", served_model="m-2", fingerprint="fp")
    changed = [rows[0].model_copy(update={"reply": other, "body": "c"}), *rows[1:3]]
    changed += [one.model_copy(update={"in_flight": 2}) for one in rows[3:]]
    found = noise_floor(["a"], [request_of(temperature=None)], Repeats(3, 16, changed), [])
    text = "\n".join(floor_lines(found))
    assert "replies are drawn here, so they are meant to differ" in text
    assert "replies came from several models (m, m-2)" in text
    assert "2 different bodies were sent" in text
    assert "only 2 requests were in flight at once" in text
    assert "temperature not set" in floor_title(found)
