"""A verdict as text for a terminal, as JUnit XML and as a comment on a pull request."""

import xml.etree.ElementTree as ET
from typing import Any

import pytest
from markdown_it import MarkdownIt

from crosspath.reports.gate_junit import gate_junit
from crosspath.reports.gate_markdown import gate_markdown
from crosspath.reports.gate_terminal import gate_terminal
from gate_verdicts import HOSTILE, check, rule, side, verdict

ALL_STATES = (
    rule("kept"),
    rule("broken", "violated"),
    rule("open", "undecided", needs="12 families in place of 6"),
    rule("gone", "unusable"),
    rule("hint", "violated", tier="warn"),
)


def cases(text: str) -> dict[str, ET.Element]:
    """The test cases by name."""
    return {str(case.get("name")): case for case in ET.fromstring(text).iter("testcase")}


def kinds(case: ET.Element) -> list[str]:
    return [child.tag for child in case]


class TestTerminal:
    def test_order(self) -> None:
        """The verdict comes first, then its reasons, a line for each rule, and at last what to do next."""
        lines = gate_terminal(verdict("FAIL", *ALL_STATES, next_steps=("look at the stories",))).splitlines()
        assert lines[0] == "FAIL: a blocking rule is shown to be violated (policy release, alpha 0.05)"
        assert lines[1] == "  new of few-20261130-1, against old of few-20261130-1"
        assert [line.split("  ")[1] for line in lines if "broken" in line] == ["VIOLATED"]
        assert "not decided" in next(line for line in lines if "open:" in line)
        assert "VIOLATED (warns only)" in next(line for line in lines if "hint:" in line)
        assert lines[-2:] == ["next:", "  look at the stories"]

    def test_failed_checks_are_named(self) -> None:
        """Of the evidence only what is not met has a line of its own."""
        text = gate_terminal(verdict("INVALID", checks=(check(), check("faults", False, "Too many."))))
        assert "\n  NOT MET  faults: Too many.\n" in text
        assert "evidence: 1 of 2 checks hold\n" in text

    def test_hostile_sentences(self) -> None:
        """A sentence can neither move the cursor nor begin a line."""
        text = gate_terminal(verdict("FAIL", rule(sentence=HOSTILE), reasons=(HOSTILE,)))
        assert "\x1b" not in text
        assert not any(line.startswith("next line") for line in text.splitlines())


class TestJunit:
    def test_states(self) -> None:
        """Violated is a failure, undecided and unusable are errors, and what only warns is neither."""
        found = cases(gate_junit(verdict("FAIL", *ALL_STATES)))
        assert kinds(found["kept"]) == ["system-out"]
        assert kinds(found["broken"]) == ["failure"]
        assert kinds(found["open"]) == kinds(found["gone"]) == ["error"]
        assert kinds(found["hint (warns only)"]) == ["system-out"]
        assert "12 families" in (found["open"][0].text or "")

    def test_checks_are_cases(self) -> None:
        """Each check of the evidence is a case, and one that is not met is an error."""
        found = cases(gate_junit(verdict("INVALID", checks=(check(), check("faults", False, "Too many.")))))
        assert kinds(found["control"]) == ["system-out"]
        assert kinds(found["faults"]) == ["error"]

    def test_counts(self) -> None:
        """The numbers at the head are those of the cases below."""
        root = ET.fromstring(gate_junit(verdict("FAIL", *ALL_STATES, checks=(check("faults", False, "Too many."),))))
        assert [root.get(name) for name in ("tests", "failures", "errors")] == ["6", "1", "3"]

    def test_hostile_text(self) -> None:
        """Markup stays text, and characters that XML can't hold are replaced, in attributes and in bodies."""
        policy = verdict().policy.model_copy(update={"name": HOSTILE[:50]})
        hostile = verdict("FAIL", rule(HOSTILE, "violated", sentence=HOSTILE), reasons=(HOSTILE,), policy=policy)
        text = gate_junit(hostile)
        root = ET.fromstring(text)
        assert [case.tag for case in root.iter("b")] == []
        failure = next(root.iter("failure"))
        assert "</failure><b>x</b> ]]> & " in (failure.text or "")
        assert "\ufffe" not in text
        assert "\x1b" not in text

    def test_counts_are_not_taken_in_by_texts(self) -> None:
        """A sentence that looks like a failure is not counted as one."""
        root = ET.fromstring(gate_junit(verdict("PASS", rule(sentence="<failure message='x'> <error "))))
        assert (root.get("failures"), root.get("errors")) == ("0", "0")


class TestMarkdown:
    def test_short_with_the_rest_folded(self) -> None:
        """The comment says the verdict and why; the table of rules is folded below."""
        text = gate_markdown(verdict("FAIL", *ALL_STATES, next_steps=("look at the stories",)))
        above, _, folded = text.partition("<details>")
        assert above.startswith("<!-- crosspath gate -->\n### Crosspath gate: FAIL\n")
        assert "- pass rate is at least 90 %." in above
        assert "- look at the stories" in above
        assert "| broken | VIOLATED |" in folded
        assert "| open | not decided | open is undecided. To decide it: 12 families in place of 6. |" in folded

    @pytest.mark.parametrize("fields", [{"reasons": (HOSTILE,)}, {"next_steps": (HOSTILE,)}, {"candidate": side(HOSTILE)}])
    def test_hostile_text(self, fields: dict[str, Any]) -> None:
        """No text becomes markup, a link or another line of the table."""
        hostile = verdict("FAIL", rule(HOSTILE, "violated", sentence=HOSTILE), checks=(check(HOSTILE, False, HOSTILE),), **fields)
        text = gate_markdown(hostile)
        html = MarkdownIt("commonmark", {"html": True}).enable("table").render(text)
        assert "<b>" not in html
        assert "<a " not in html
        assert html.count("<tr>") == 3
