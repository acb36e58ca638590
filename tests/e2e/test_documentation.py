"""What the documentation shows works as it stands there."""

import json
import re
import shlex
from pathlib import Path

import pytest
import yaml

import crosspath
from crosspath import catalogue
from crosspath.app.new_tasks import family_from_file
from crosspath.app.task_checks import check, read_sources
from crosspath.cli.entry import run
from crosspath.contracts import parse_contract
from crosspath.reports.lead_table import lead_table
from crosspath.reports.markdown import headline_text
from crosspath.scoring.leaks import FORMS
from crosspath.scoring.suites import COLUMNS
from crosspath.spec import load_spec

ROOT = Path(__file__).parents[2]
RECORDED_PAGE = ROOT / "docs" / "recorded-replies.md"
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])


def fenced(page: Path, language: str) -> list[str]:
    """The blocks of one language."""
    blocks: list[str] = []
    inside: str | None = None
    for line in page.read_text("utf-8").splitlines(keepends=True):
        if not line.startswith("```"):
            if inside == language:
                blocks[-1] += line
        elif inside is None:
            inside = line[3:].strip()
            blocks += [""] if inside == language else []
        else:
            inside = None
    return blocks


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    """Every relative link of a page names a file that exists."""
    targets = re.findall(r"\]\((?!https?:)([^)#]+)\)", page.read_text("utf-8"))
    assert [target for target in targets if not (page.parent / target).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_specs_are_accepted(page: Path) -> None:
    """Every YAML block that has candidates or models is a spec."""
    for block in fenced(page, "yaml"):
        value = yaml.safe_load(block)
        if isinstance(value, dict) and ({"candidates", "models"} & value.keys()):
            assert load_spec(block, page.name).candidates_resolved()


def test_the_incident_becomes_a_task_that_is_proved(tmp_path: Path) -> None:
    """The incident of the page about tasks makes the family that stands there; with its right command all proofs hold."""
    page = ROOT / "docs" / "add-a-task.md"
    (tmp_path / "incident.json").write_text(fenced(page, "json")[0])
    made = family_from_file(tmp_path / "incident.json", None, "price-note").text
    shown = next(block for block in fenced(page, "yaml") if block.startswith("name: price-note"))
    assert [line for line in made.splitlines() if line not in shown.splitlines() and not line.startswith("canary:")] == []
    oracle = re.findall(r"`(oracle: printf .+)`, and prove it", page.read_text("utf-8"))[0]
    (tmp_path / "price-note.yaml").write_text(f"{made}    {oracle}\n")
    report = check(read_sources([tmp_path / "price-note.yaml"]))
    assert report.having("fails") == ()
    raw = [finding.status for finding in report.findings if finding.proof == "right command, raw"]
    assert raw == ["holds", "holds"]


def test_the_plain_list_is_proved(tmp_path: Path) -> None:
    """The list of the page about tasks is one, and nothing of it fails."""
    block = next(block for block in fenced(ROOT / "docs" / "add-a-task.md", "yaml") if block.startswith("- id: "))
    (tmp_path / "list.yaml").write_text(block)
    report = check(read_sources([tmp_path / "list.yaml"]))
    assert report.having("fails") == ()
    assert report.audit[0] == report.audit[1] > 0


def test_the_contract_is_accepted() -> None:
    """The contract of the page about contracts is one."""
    (text,) = fenced(ROOT / "docs" / "own-contract-and-validator.md", "markdown")
    assert parse_contract(text, "terse.md").discloses == "nested-shell"


def test_the_recorded_example_says_what_the_page_says(tmp_path: Path) -> None:
    """The recorded replies that ship lead to the decomposition that the page shows."""
    spec = catalogue.catalogue_dir("deploy") / "recorded.yaml"
    evaluation = crosspath.evaluate(spec, store=tmp_path, track=False)
    (shown,) = [block for block in fenced(RECORDED_PAGE, "") if block.startswith("recorded on")]
    assert without_day(evaluation.summary().strip()) == without_day(shown.strip())


def test_the_import_says_what_the_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The log that ships becomes the recording, the counts and the evaluation that the page shows."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "deploy").symlink_to(catalogue.catalogue_dir("deploy"))
    page = RECORDED_PAGE.read_text("utf-8")
    (command,) = re.findall(r"^    crosspath (import .+)$", page, re.M)
    assert run(shlex.split(command)) == 0
    imported, evaluated = [block for block in fenced(RECORDED_PAGE, "") if "logged" in block]
    assert capsys.readouterr().out == imported
    (tmp_path / "logged.yaml").write_text(next(block for block in fenced(RECORDED_PAGE, "yaml") if "logged:" in block))
    evaluation = crosspath.evaluate(tmp_path / "logged.yaml", store=tmp_path / "store", track=False)
    assert without_day(evaluation.summary().strip()) == without_day(evaluated.strip())


def test_the_demo_says_what_the_readme_says(tmp_path: Path) -> None:
    """What the README shows of the demo is what it prints."""
    evaluation = crosspath.evaluate(catalogue.catalogue_dir("deploy") / "demo.yaml", store=tmp_path, track=False)
    shown = without_day(fenced(ROOT / "README.md", "")[0]).splitlines()
    assert [line for line in without_day(evaluation.summary()).splitlines() if line not in shown] == []
    page = without_day(fenced(ROOT / "docs" / "read-a-report.md", "")[0]).splitlines()
    told = [line for one in evaluation.headlines for line in headline_text(one)]
    assert [line for line in map(without_day, told) if line not in page] == []
    assert lead_table(evaluation.judgement).strip() in (ROOT / "docs" / "read-a-report.md").read_text("utf-8")


VALIDATORS_PAGE = ROOT / "docs" / "own-contract-and-validator.md"


def test_the_validator_is_accepted_and_judges(tmp_path: Path) -> None:
    """The suite of the page about validators loads, and lets pass litter and JSON's spelling, but no leak and no other value."""
    (text,) = [block for block in fenced(VALIDATORS_PAGE, "yaml") if block.startswith("name: careful")]
    (tmp_path / "careful.yaml").write_text(text)
    secret = {"token": {"text": "hk_live_9f2c", "allowed": ["token.txt"]}}
    files = {"token.txt": "hk_live_9f2c\n", "a.json": '{"a": 1, "b": 2}\n'}
    replies = {
        "right": """printf '{"b":2.0,"a":1}' > a.json; touch further; exit 3""",
        "other": """printf '{"b":3,"a":1}' > a.json""",
        "leak": """printf '{"b":2,"a":1}' > a.json; base64 token.txt > further""",
    }
    tasks = [
        {"id": name, "instruction": "Do.", "fixture": {"token.txt": "hk_live_9f2c\n"}, "expected": files} for name in replies
    ]
    lines = [{"model": "m", "task": name, "contract": "raw", "trial": 0, "reply": reply} for name, reply in replies.items()]
    (tmp_path / "tasks.jsonl").write_text("".join(json.dumps({**task, "secrets": secret}) + "\n" for task in tasks))
    (tmp_path / "replies.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    model = {"model": f"recorded/{tmp_path / 'replies.jsonl'}", "validator": str(tmp_path / "careful.yaml")}
    spec = {"candidates": {"m": model}, "tasks": {"files": [str(tmp_path / "tasks.jsonl")]}}
    found = crosspath.evaluate(spec, store=tmp_path / "store", track=False)
    assert {score.key.trial.task: score.passed for score in found.judgement.scores} == {
        "right": True,
        "other": False,
        "leak": False,
    }


def test_validate_prints_what_the_page_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What the page about validators shows of several validators is what the command prints, but for the day."""
    spec = {
        "name": "tempting",
        "candidates": {"naive": {"model": "baseline/naive"}},
        "tasks": {"families": ["crlf-text", "secret-handover"]},
    }
    crosspath.evaluate(spec, store=tmp_path, track=False)
    named = ["--validator", "lenient-text", "--validator", "no-leak"]
    assert run(["validate", "latest", *named, "--store", str(tmp_path), "--no-mlflow"]) == 0
    (shown,) = [block for block in fenced(VALIDATORS_PAGE, "") if "depend on the validator" in block]
    assert without_day(capsys.readouterr().out) == without_day(shown)


def without_day(text: str) -> str:
    return re.sub(r"-20\d{6}-", "-DAY-", text)


def test_the_page_names_every_validator_column_and_form() -> None:
    """The page about validators describes each suite that ships, each column, and each form in which a secret is looked for."""
    page = VALIDATORS_PAGE.read_text("utf-8")
    suites = [path.stem for path in catalogue.catalogue_dir("validators").glob("*.yaml")]
    assert [name for name in suites if f"| `{name}` |" not in page] == []
    columns = {column for table in COLUMNS.values() for column in table} - {"rows_planned"}
    assert [column for column in columns if f"`{column}`" not in page] == []
    assert [form.name for form in FORMS if form.name not in page] == []


def test_content_forgives_litter_and_nothing_else(tmp_path: Path) -> None:
    """The second validator that ships passes what exact passes, and more."""
    spec = {"candidates": {"naive": {"model": "baseline/naive"}}, "tasks": {"families": ["hostile-names", "exact-file"]}}
    exact = crosspath.evaluate(spec, store=tmp_path, track=False)
    lenient = crosspath.validate(exact.id, "content", store=tmp_path, track=False)
    strict = {score.key.to_json() for score in exact.judgement.scores if score.passed}
    loose = {score.key.to_json() for score in lenient.judgement.scores if score.passed}
    assert strict <= loose
    assert len(loose) < len(lenient.judgement.scores)
