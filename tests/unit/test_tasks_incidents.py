"""A family made from one incident."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crosspath.errors import ConfigError
from crosspath.tasks import expand_family
from crosspath.tasks.hazards import found_in
from crosspath.tasks.incidents import incident_task, new_family
from crosspath.tasks.places import Place
from crosspath.types import Task

INCIDENT: dict[str, Any] = {
    "source": "https://example.org/1",
    "instruction": "Create note.txt with exactly the line ⟪it's $5⟫ and a final newline.",
    "expected": {"note.txt": "it's $5\n"},
    "reply": 'echo "it\'s $5" > note.txt',
}


def made(**fields: Any) -> tuple[Task, ...]:
    """The tasks of the family of this incident."""
    task = incident_task({**INCIDENT, **fields}, Place("incident.json"), "own")
    return expand_family(new_family(task, "own").text, "own.yaml")


def test_the_bad_reply_becomes_the_tempting_command() -> None:
    """The last variant is the incident itself: same instruction and state, the reply as naive command, hazards found."""
    *_, incident = made()
    assert (incident.id, incident.tier, incident.hazards) == ("own/incident", 1, ("apostrophe", "dollar"))
    assert incident.naive == INCIDENT["reply"]
    assert incident.instruction == INCIDENT["instruction"]
    assert [(entry.path, entry.content) for entry in incident.expected] == [(b"note.txt", b"it's $5\n")]
    assert incident.meta["incident"] == INCIDENT["source"]
    assert "canary" in incident.meta["canary"]


def test_a_harmless_payload_gives_a_control() -> None:
    """Where the reply holds the payload as it is, a control of tier 0 is made for which that reply is right."""
    control, _ = made()
    assert (control.tier, control.hazards) == (0, ())
    assert control.oracle == control.naive == 'echo "it-s-5" > note.txt'
    assert control.expected[0].content == b"it-s-5\n"


def test_without_the_payload_in_the_reply_there_is_no_control() -> None:
    """A reply that spells the payload otherwise gives the incident alone, and a remark on what to add."""
    task = incident_task({**INCIDENT, "reply": "echo it\\'s 5 > note.txt"}, Place("incident.json"), "own")
    family = new_family(task, "own")
    assert [each.id for each in expand_family(family.text, "own.yaml")] == ["own/incident"]
    assert any("tier 0" in remark for remark in family.remarks)


def test_without_marks_the_quoted_content_is_the_payload() -> None:
    """An instruction without marks still gives a variable where it quotes what the expected file holds."""
    _, incident = made(instruction="Write it's $5 to note.txt.")
    assert incident.instruction == "Write it's $5 to note.txt."
    assert incident.hazards == ("apostrophe", "dollar")


def test_templates_in_an_incident_are_literal() -> None:
    """Text that looks like a template is kept as it is in all of the family's fields."""
    _, incident = made(
        instruction="Put {% if %} and ⟪{{ user }}⟫ into a.txt. {# keep #}",
        expected={"a.txt": "{{ user }}\n"},
        reply='echo "{{ user }}" > a.txt',
    )
    assert incident.instruction == "Put {% if %} and ⟪{{ user }}⟫ into a.txt. {# keep #}"
    assert (incident.naive, incident.expected[0].content) == ('echo "{{ user }}" > a.txt', b"{{ user }}\n")


def test_no_field_of_an_incident_is_taken_for_a_template() -> None:
    """What looks like a template in an observer or a glob comes back as it was."""
    *_, incident = made(ignore=["{{*}}"], observe={"length": "echo ${#x}"}, expected_observed={"length": "0\n"})
    assert incident.observers[0].command == "echo ${#x}"
    assert (incident.naive, incident.ignore) == (INCIDENT["reply"], ("{{*}}",))


def test_line_ends_of_an_incident_stay() -> None:
    """CR LF in the incident is CR LF in its family, beside a variable, too."""
    *_, incident = made(expected={"note.txt": "first\r\nit's $5\r\n"})
    assert incident.expected[0].content == b"first\r\nit's $5\r\n"


def test_what_can_not_be_done_has_no_control() -> None:
    """An incident that can't be done becomes a family without a right command anywhere."""
    tasks = made(infeasible="the disk is gone", expected={}, instruction="Write ⟪it's $5⟫ to the disk.")
    assert [(task.tier, task.oracle) for task in tasks] == [(1, None)]


def test_programs_stay_as_they_were_written() -> None:
    """A stub of the incident is a stub of the family, and its patterns take the payload of each variant."""
    stub = {"kubectl": {"kind": "stub", "answers": [{"argv": ["note=it's $5"]}]}}
    fields = {
        "programs": stub,
        "expected": {},
        "instruction": "Call kubectl with ⟪note=it's $5⟫.",
        "reply": 'kubectl "note=it\'s $5"',
    }
    task = incident_task({**INCIDENT, **fields}, Place("incident.json"), "own")
    text = new_family(task, "own", stub).text
    assert "kind: stub" in text
    control, incident = expand_family(text, "own.yaml")
    assert incident.programs == task.programs
    assert control.programs != task.programs


@given(st.text(st.characters(blacklist_categories=["Cs", "Cc"], blacklist_characters="⟪⟫"), min_size=1, max_size=30))
def test_any_payload_comes_back(payload: str) -> None:
    """Whatever the payload, the incident's variant expands to the incident."""
    given_task = incident_task(
        {
            "instruction": f"Write ⟪{payload}⟫ to a file named out-of-this.",
            "expected": {"out-of-this": payload},
            "reply": f"printf '{payload}' > out-of-this",
        },
        Place("x"),
        "own",
    )
    *_, incident = expand_family(new_family(given_task, "own").text, "own.yaml")
    same = {"instruction", "expected", "naive", "fixture"}
    assert incident.model_dump(include=same) == given_task.model_dump(include=same)
    assert set(incident.hazards) >= (found_in(payload) if found_in(payload) or len(payload) >= 3 else set())


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"reply": None}, "incident.json: reply: missing"),
        ({"expected": None}, "incident.json: expected: missing"),
        ({"instruction": None}, "incident.json: instruction"),
        ({"source": 5}, "incident.json: source: 5 is not a text"),
        ({"source": "ticket 12"}, 'incident.json: source: "ticket 12" is not a link'),
        ({"replies": "x"}, "unknown field"),
    ],
)
def test_a_bad_incident_is_one_clear_line(change: dict[str, Any], said: str) -> None:
    """What is missing or wrong in an incident is said in one line with the field."""
    with pytest.raises(ConfigError) as caught:
        made(**change)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
