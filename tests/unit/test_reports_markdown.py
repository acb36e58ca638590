import json

import pytest

from crosspath.analysis import (
    CellInput,
    compare,
    control_word,
    decompose,
    decomposition_tables,
    inconclusive,
    judge_control,
    spend,
)
from crosspath.analysis.stages import CAUSES, STAGES, by_stage, stage_of
from crosspath.reports.markdown import report_markdown, summary_text
from crosspath.types import (
    Attempt,
    Candidate,
    CellRow,
    Control,
    Decomposition,
    EvaluationHead,
    Facts,
    Fault,
    Generation,
    Judgement,
    Lock,
    ModelSpec,
    PlannedCell,
    Reference,
    ReplayKey,
    Reply,
    Request,
    Score,
    Trial,
    TrialKey,
    Usage,
)

HOLDS = judge_control("encoded", {("a", 0): (True,)}, {("a", 0): (True,)})
BROKEN = judge_control("encoded", {("t0", 0): (True,) * 4}, {("t0", 0): (False,) * 4})
GENERATION = Generation(model=ModelSpec(name="baseline/oracle"), contract="nested-shell")


def rows(right: int, n: int = 24, faults: int = 0) -> tuple[CellRow, ...]:
    """``right`` right rows of ``n``, wrong ones, and ``faults`` lost ones at the end; six families, four tiers."""
    places = range(n)
    return tuple(
        CellRow(
            task=f"t{place}", family=f"f{place % 6}", tier=place // 6,
            passed=None if place >= n - faults else place < right,
            cause="fault:rate_limit" if place >= n - faults else None if place < right else "wrong_state",
            silent_wrong=right <= place < n - faults and place % 2 == 0,
        )
        for place in places
    )  # fmt: skip


def baseline(name: str, matched: int, control: Control = HOLDS, faults: int = 0) -> Decomposition:
    """A decomposition with 24 right on raw, 6 on nested-shell, and ``matched`` when told."""
    cells = [
        CellInput("R", "R", "raw", "raw", rows(24, faults=faults)),
        CellInput("R", "N", "raw", "nested-shell", rows(6, faults=faults)),
        CellInput("N", "N", "nested-shell", "nested-shell", rows(matched)),
    ]
    return decompose(name, cells, control, {"NR": "not asked"})


def judgement(*decompositions: Decomposition) -> Judgement:
    """A judgement without scores or spend."""
    return Judgement(scores=(), decompositions=decompositions, spend=spend([], []), warnings=("2 limits are not enforced",))


def report(judged: Judgement) -> str:
    """The report of a finished evaluation with one candidate whose name needs escaping."""
    candidate = Candidate(name="a|b", generation=GENERATION, transport="nested-shell")
    lock = Lock(
        candidates=(candidate,), reference=Reference(), trials=1, tasks={"t0": "d"}, contracts={}, transports={}, suites={}
    )
    head = EvaluationHead(id="demo-1", name="demo", created_at=0, status="finished", spec={}, spec_digest="d")
    facts = Facts(
        head=head, lock=lock, tasks=(), cells=(), contracts=(), transports=(), suites=(), trials=(), attempts=(), replays=()
    )
    return report_markdown(facts, judged)


def test_oracle_in_plain_words() -> None:
    """The oracle's paragraph says what the path broke and that telling changed nothing."""
    text = summary_text(judgement(baseline("baseline/oracle", 6)))
    assert (
        "baseline/oracle on nested-shell: 24 of 24 right when told and run raw; the same replies on nested-shell: 6 of 24."
        in text
    )
    assert "The path broke 18 of 24 (damage -75.0 points). Telling the model changed nothing (compensation 0.0)." in text
    assert text.startswith("WARNING: 2 limits are not enforced\n")


def test_adaptive_in_plain_words() -> None:
    """A model that makes up for the path: the matched sum hides both parts."""
    text = summary_text(judgement(baseline("baseline/adaptive", 24)))
    assert "won back 75.0 points (compensation +75.0): 24 of 24." in text
    assert "A matched score shows only the sum: 0.0 = -75.0 + 75.0." in text


def test_broken_control_comes_first() -> None:
    """With a broken control the report opens with it and its effects are marked as not to be used."""
    text = report(judgement(baseline("x", 24, BROKEN)))
    assert text.splitlines()[4].startswith("> **x: NO VERDICT, the control is broken")
    assert "Effects: NOT TO BE USED" in text
    assert "t0#0" in text


def test_rates_stand_on_both_denominators() -> None:
    """Attempted, scored and faults stand beside each rate, over attempted and over scored."""
    text = report(judgement(baseline("x", 24, faults=3)))
    assert "| RR | 24 | 21 | 3 | 0 | 21 | 87.5 % | 100.0 % |" in text
    assert "21 of 21 scored (24 attempted, 3 faults)" in text
    assert "fault:rate_limit" in text


def test_report_names_every_field_and_stays_a_table() -> None:
    """Each configuration field has a row, and a bar in a name doesn't break the table."""
    text = report(judgement(baseline("x", 24)))
    assert "| field | a\\|b |" in text
    for field in (
        "generation.operating_point.temperature",
        "generation.model.name",
        "harness",
        "reference.transport",
        "lock digest",
    ):
        assert f"| {field} |" in text
    assert "nan" not in text.lower()


def test_comparison_warning_reaches_summary_and_report() -> None:
    """What one side lacks is said in both texts."""
    pair = compare("a", "b", rows(24), rows(24, faults=2), [("transport", "raw", "nested-shell")])
    judged = judgement(baseline("a", 24)).model_copy(update={"comparisons": (pair,)})
    assert "2 of 24 trials are not scored in both" in summary_text(judged)
    assert "transport: raw -> nested-shell" in report(judged)


def test_nothing_planned_is_said() -> None:
    """A candidate without cells gives words, not a crash."""
    empty = decompose("x", [], judge_control("none", {}, {}))
    assert "nothing was planned" in summary_text(judgement(empty))
    assert "not planned" in report(judgement(empty))


def test_every_cause_has_one_stage() -> None:
    """No cause is without a stage or in two, and faults are a stage of their own."""
    listed = [cause for causes in STAGES.values() for cause in causes]
    assert sorted(listed) == sorted(CAUSES)
    assert (stage_of("fault:budget"), stage_of("unheard_of")) == ("not observed", "other")
    assert by_stage({"timeout": 1, "fault:budget": 2, "empty": 3}) == {"reply": 3, "limit": 1, "not observed": 2}


def test_tables_are_strict_json_and_name_the_cell() -> None:
    """Rows hold plain values without NaN; a failure is named by candidate and cell, once per cell that it serves."""
    key = ReplayKey(trial=TrialKey(generation=GENERATION.digest, task="t0", index=0), path="p")
    score = Score(key=key, state_ok=False, reported_ok=True, passed=False, cause="wrong_state", reason="differs")
    planned = [
        PlannedCell(
            candidate=name, told="N", done="N", generation=GENERATION, contract="nested-shell", transport="nested-shell", path="p"
        )
        for name in ("a", "b")
    ]
    judged = judgement(baseline("a", 24, faults=24)).model_copy(update={"scores": (score,)})
    tables = decomposition_tables(judged, planned)
    assert [(row["candidate"], row["cell"], row["stage"], row["silent_wrong"]) for row in tables.failures] == [
        ("a", "NN", "state", True), ("b", "NN", "state", True),
    ]  # fmt: skip
    assert len(tables.cells) == 3
    assert len(tables.effects) == 6
    json.dumps([tables.cells, tables.effects, tables.failures], allow_nan=False)
    assert decomposition_tables(judged).failures[0]["candidate"] is None


def attempt(number: int, *, fault: bool = False, usage: bool = True, cost: float | None = 0.5) -> Attempt:
    """One request of session 1 or 2; 10 tokens in, 5 out."""
    return Attempt(
        request_key=f"k{number}", number=0, session=1 + number % 2, started_at=1.0, ended_at=2.0,
        fault=Fault(boundary="model", type="server_error", message="") if fault else None,
        usage=Usage(prompt_tokens=10, completion_tokens=5) if usage and not fault else None, cost_usd=None if fault else cost,
    )  # fmt: skip


def trial(number: int) -> Trial:
    """A trial with a reply to request ``k{number}``."""
    key = TrialKey(generation="g", task=f"t{number}", index=0)
    request = Request(key=f"k{number}", trial=key, contract="raw", endpoint=None, model="m", messages=(), params={}, timeout_s=1)
    return Trial(key=key, request=request, reply=Reply(text=""))


def test_spend_adds_up_attempt_rows() -> None:
    """Three fresh replies, two reused and a failed attempt: totals count requests, not trials, over both sessions."""
    total = spend([*(attempt(number) for number in range(3)), attempt(2, fault=True)], [trial(number) for number in range(5)])
    assert (total.requests, total.requests_failed, total.replies, total.replies_reused) == (4, 1, 5, 2)
    assert (total.prompt_tokens, total.completion_tokens, total.cost_usd, total.sessions) == (30, 15, 1.5, 2)
    assert total.generation_s == pytest.approx(4)


def test_unknown_cost_is_not_zero() -> None:
    """One reply without a cost or usage makes the total unknown; what is known stands apart."""
    total = spend([attempt(0), attempt(1, usage=False, cost=None)], [trial(0), trial(1)])
    assert (total.cost_usd, total.cost_known_usd, total.usage_unknown) == (None, 0.5, 1)
    nothing = spend([attempt(0, usage=False, cost=None)], [trial(0)])
    assert (nothing.prompt_tokens, nothing.completion_tokens) == (None, None)
    assert "cost unknown (known part 0.0000 USD)" in summary_text(judgement().model_copy(update={"spend": nothing}))


def observed_of(seen: int, right: int, n: int = 24) -> tuple[CellRow, ...]:
    """The first ``seen`` of ``n`` trials have a verdict, ``right`` of them a good one; the connection failed for the rest."""
    return rows(right, n, faults=n - seen)


def on_nested(reference: tuple[CellRow, ...], same: tuple[CellRow, ...], told: tuple[CellRow, ...]) -> Decomposition:
    """A candidate from the rows of RR, RN and NN; the control agrees wherever both sides were seen."""
    cells = [
        CellInput("R", "R", "raw", "raw", reference),
        CellInput("R", "N", "raw", "nested-shell", same),
        CellInput("N", "N", "nested-shell", "nested-shell", told),
    ]
    passes = {(row.task, row.index): (row.passed,) for row in reference}
    return decompose("m", cells, judge_control("encoded", passes, passes))


def test_where_nothing_passes_on_the_reference_damage_cannot_be_seen() -> None:
    """No sentence, table or control line takes 0 of 24 before and after a path for a path that broke nothing."""
    found = on_nested(rows(0), rows(0), rows(3))
    assert found.blind
    assert control_word(found) == "blind"
    text = summary_text(judgement(found))
    assert "No reply passes on the reference: there is nothing that the path could break, so damage can't be seen." in text
    assert "Told about the path: 3 of 24." in text
    assert "encoded control proves nothing" in text
    for words in ("damage 0.0", "control holds", "shows only the sum"):
        assert words not in text
    page = report(judgement(found))
    assert "Effects, in percentage points: DAMAGE CAN'T BE SEEN" in page
    assert page.count("| can't be seen | – |") == 2
    assert not on_nested(rows(1), rows(0), rows(0)).blind
    assert not on_nested(observed_of(0, 0), rows(0), rows(0)).blind


def test_little_coverage_is_said_first_and_its_size_beside_each_number() -> None:
    """One reply of 24: the sentence opens with it, the control holds on what was seen, and an effect names its n."""
    found = on_nested(observed_of(1, 1), observed_of(1, 1), observed_of(1, 1))
    text = summary_text(judgement(found))
    assert "m on nested-shell: only 1 of 24 trials could be observed (fault: rate_limit)." in text
    assert "encoded control holds on 1 of 24: 23 could not be observed on both sides." in text
    half = summary_text(judgement(on_nested(observed_of(11, 11), observed_of(11, 0), rows(24))))
    assert "only 11 of 24 trials could be observed in RR and RN (fault: rate_limit)." in half
    assert "won back 100.0 points (compensation +100.0, n = 11): 24 of 24." in half


def test_only_what_the_path_broke_is_won_back() -> None:
    """Where the path broke nothing, a model that does better when told gains."""
    text = summary_text(judgement(on_nested(rows(12), rows(12), rows(24))))
    assert "the model gained 50.0 points (compensation +50.0): 24 of 24." in text
    assert "the model lost 50.0 points" in summary_text(judgement(on_nested(rows(24), rows(24), rows(12))))


def test_nothing_observed_is_said_with_the_reason() -> None:
    """Only faults: no count of none, no rate; one cell without a verdict says so in its own place."""
    nothing = summary_text(judgement(on_nested(*[observed_of(0, 0)] * 3)))
    assert "m on nested-shell: none of 24 trials could be observed (fault: rate_limit).\n" in nothing
    assert "encoded control missing: none of 24 trials could be observed on both sides." in nothing
    assert "NOT PROVEN" not in nothing
    assert "0 of 0" not in nothing
    one = summary_text(judgement(on_nested(observed_of(0, 0), observed_of(0, 0), rows(24))))
    assert "nothing observed of 24 (fault: rate_limit) when told and run raw;" in one
    assert "0 of 0" not in one


@pytest.mark.parametrize(("seen", "weak"), [(24, False), (12, False), (11, True), (0, True)])
def test_fewer_than_half_of_a_cell_is_inconclusive(seen: int, weak: bool) -> None:
    """One thin cell is enough."""
    assert inconclusive(on_nested(rows(24), rows(24), observed_of(seen, 0))) is weak


def test_cells_have_no_column_that_never_holds_anything() -> None:
    """A rate has no p value, so the table of cells has no such column; effects keep theirs, and a label in words."""
    tables = decomposition_tables(judgement(on_nested(rows(0), rows(0), rows(3))))
    assert "p_value" not in tables.cells[0]
    assert "p_value" in tables.effects[0]
    assert {row["label"] for row in tables.effects} == {"damage", "compensation", "matched gap"}
    assert {row["control"] for row in tables.cells} == {"blind"}


def with_alarms(wanted: tuple[CellRow, ...], **kinds: int) -> tuple[CellRow, ...]:
    """The rows, the first ones with so many false alarms of each kind."""
    named = [kind for kind, count in kinds.items() for _ in range(count)]
    given = {place: wanted[place].model_copy(update={"false_alarm": kind}) for place, kind in enumerate(named)}
    return tuple(given.get(place, row) for place, row in enumerate(wanted))


def test_right_states_that_were_reported_wrongly_are_said() -> None:
    """One sentence with the cells and kinds, a column of the rates, and nothing where the path told the truth."""
    found = on_nested(with_alarms(rows(24), status=1), with_alarms(rows(6), timeout=2, output=1), rows(6))
    sentence = "Right states reported as failures: 1 in RR (1 exit status), 3 in RN (2 time-outs, 1 unreadable output)."
    text, page = summary_text(judgement(found)), report(judgement(found))
    assert sentence in text
    assert sentence in page
    assert "| 9 | 3 (2 time-outs, 1 unreadable output) |" in page
    masked = on_nested(rows(24), with_alarms(rows(24), masked=2, delivery=2), rows(24))
    assert "Right states reported wrongly: 4 in RN (2 lost exit statuses, 2 refused deliveries)." in summary_text(
        judgement(masked)
    )
    assert "reported" not in summary_text(judgement(baseline("x", 24)))
    assert "reported" not in summary_text(judgement(on_nested(with_alarms(rows(24), masked=1), rows(24), rows(24))))
    alone = decompose("x", [CellInput("R", "R", "raw", "raw", with_alarms(rows(24), status=1))], HOLDS)
    assert "Right states reported as failures: 1 in RR (1 exit status)." in summary_text(judgement(alone))


def test_compared_candidates_show_what_they_told() -> None:
    """Beside the difference of two candidates stand the silent wrongs and false alarms of both."""
    first, second = (
        on_nested(rows(24), rows(24), with_alarms(rows(right), timeout=count)).model_copy(update={"candidate": name})
        for name, right, count in (("a", 24, 2), ("b", 20, 0))
    )
    pair = compare("a", "b", rows(24), rows(20))
    judged = judgement(first, second).model_copy(update={"comparisons": (pair,)})
    assert "| 0 of 24 -> 2 of 24 | 2 of 24 -> 0 of 24 |" in report(judged)


def test_misreports_are_rows() -> None:
    """Silent wrongs and false alarms are rows, passed or not; what was told rightly is none."""
    key = ReplayKey(trial=TrialKey(generation=GENERATION.digest, task="t0", index=0), path="p")
    right = Score(key=key, state_ok=True, reported_ok=True, passed=True, cause=None)
    alarm = right.model_copy(update={"reported_ok": False, "cause": "timeout", "false_alarm": "timeout"})
    silent = right.model_copy(update={"state_ok": False, "passed": False, "cause": "wrong_state"})
    told = silent.model_copy(update={"reported_ok": False, "cause": "tool_error"})
    declined = silent.model_copy(update={"infeasible": True})
    judged = judgement(baseline("a", 24)).model_copy(update={"scores": (right, alarm, silent, told, declined)})
    tables = decomposition_tables(judged)
    assert [(row["misreport"], row["kind"], row["passed"]) for row in tables.misreports] == [
        ("false_alarm", "timeout", True), ("silent_wrong", None, False),
    ]  # fmt: skip
    assert [row["false_alarm"] for row in tables.failures] == [None, None]
    json.dumps(tables.misreports, allow_nan=False)


def test_cells_count_false_alarms_by_kind() -> None:
    """A row per cell has their number and the number of each kind, zeros included."""
    found = on_nested(rows(24), with_alarms(rows(24), timeout=2, masked=1), rows(24))
    row = next(row for row in decomposition_tables(judgement(found)).cells if row["cell"] == "RN")
    kinds = {name: count for name, count in row.items() if name.startswith("alarm_")}
    assert row["false_alarm"] == 3
    assert kinds == {"alarm_timeout": 2, "alarm_status": 0, "alarm_output": 0, "alarm_masked": 1, "alarm_delivery": 0}
