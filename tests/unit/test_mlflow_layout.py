"""What an evaluation looks like in MLflow, without MLflow."""

import re
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import estimate, evaluation, task
from crosspath.adapters.mlflow_tracker.addresses import (
    absolute,
    artifacts_beside,
    embedded_uri,
    evaluation_url,
    ui_server,
    without_password,
)
from crosspath.adapters.mlflow_tracker.layout import layout
from crosspath.adapters.mlflow_tracker.names import (
    MAX_METRICS,
    MAX_PARAM,
    MAX_TAG,
    check_run,
    clean_name,
    fit_note,
    flatten,
    prompt_name,
    shown,
    value_text,
)
from crosspath.adapters.mlflow_tracker.notes import estimate_text
from crosspath.errors import TrackerError


def test_columns_start_with_the_answer() -> None:
    """The pass rate comes first, then the effects."""
    nested = layout(*evaluation(), max_rows=100).nested[0]
    assert list(nested.metrics)[:4] == ["pass_rate", "damage_pp", "compens_pp", "gap_pp"]


def test_every_configuration_field_is_a_param() -> None:
    """A nested run has the whole configuration in dotted names; what was not set says so."""
    facts, judgement = evaluation()
    params = layout(facts, judgement, max_rows=100).nested[0].params
    point = facts.lock.candidates[0].generation.operating_point
    assert {f"op.{name}" for name in type(point).model_fields} <= params.keys()
    assert params["op.top_p"] == "unset"
    assert params["op.temperature"] == "0.0"
    wanted = {"model", "contract", "contract.version", "contract.digest", "transport", "harness", "request_style", "validator"}
    wanted |= {"tools", "reference.contract", "reference.transport", "tasks.digest", "toolchain.sandbox", "packages.mlflow"}
    wanted |= {"commit", "dirty", "lock.digest", "trials", "toolchain.limits_enforced", "toolchain.programs.bash"}
    assert wanted <= params.keys()


def test_columns_line_up_between_candidates() -> None:
    """All nested runs have the same params, so that two candidates can be compared line by line."""
    nested = layout(*evaluation(), max_rows=100).nested
    assert len({frozenset(run.params) for run in nested}) == 1


def test_nothing_secret() -> None:
    """A key is named by its environment variable; its value is nowhere in the records, and so not in MLflow."""
    params = layout(*evaluation(), max_rows=100).nested[0].params
    assert params["model.api_key_env"] == "unset"


def test_long_param_goes_to_a_file() -> None:
    """A value that MLflow would cut is a file, with its digest as the param."""
    facts, judgement = evaluation()
    toolchain = facts.lock.toolchain
    assert toolchain is not None
    long = toolchain.model_copy(update={"programs": {"bash": "v" * (MAX_PARAM + 1)}})
    found = layout(facts.model_copy(update={"lock": facts.lock.model_copy(update={"toolchain": long})}), judgement, 10)
    found.check()
    assert found.parent.long_params == {"toolchain.programs.bash": "v" * (MAX_PARAM + 1)}
    assert found.parent.params["toolchain.programs.bash"].startswith("sha256:")


def test_description_in_plain_words() -> None:
    """A nested run's description starts with a sentence, then has the cells and the effects as tables."""
    note = layout(*evaluation(), max_rows=100).nested[2].tags["mlflow.note.content"]
    assert note.startswith("**adaptive**, told *nested* and executed through *nested-shell*")
    assert "| damage (RN - RR) |" in note
    assert "t on family means" in note
    assert "Control (encoded): **holds**" in note


def test_parent_describes_all_candidates() -> None:
    """The parent's description has one line for each candidate, what its control allows, and where everything else is."""
    facts, judgement = evaluation()
    first, second = judgement.decompositions
    broken = second.model_copy(update={"control": second.control.model_copy(update={"status": "broken", "reason": "racy"})})
    note = layout(facts, judgement.model_copy(update={"decompositions": (first, broken)})).parent.tags["mlflow.note.content"]
    lines = {line.split(" |")[0]: line.replace("&ensp;", " ") for line in note.splitlines() if line.startswith("| ")}
    assert "| 1 of 3 | -66.7 \\[-86.7, -46.7\\] | +0.0 \\[-20.0, +20.0\\] |" in lines["| oracle on nested-shell"]
    assert lines["| adaptive on nested-shell"].count("not to be used") == 3
    assert lines["| adaptive on nested-shell"].endswith("| broken |")
    assert "`report.html` under *Artifacts*, or `crosspath report quoting-20261129-1`" in note


def test_tables_have_room() -> None:
    """MLflow shows a description's tables without any space between columns, so that each cell but the first brings its own."""
    note = fit_note("| a | b |\n| --- | --- |\n| 1 \\| 2 | 3 |\ntext | here\n", "elsewhere")
    assert note == "| a |&ensp;b |\n| --- | --- |\n| 1 \\| 2 |&ensp;3 |\ntext | here\n"


def test_derived_names() -> None:
    """A derived evaluation is told from its source by its name, and by what gives the whole of it."""
    facts, judgement = evaluation("quoting-20251129-2")
    head = facts.head.model_copy(update={"derived_from": "quoting-20251129-1", "derivation": "replay through raw"})
    parent = layout(facts.model_copy(update={"head": head}), judgement, max_rows=10).parent
    assert parent.name == "quoting · 2025-11-29 07:06 · replay through raw"
    assert parent.tags["mlflow.source.name"] == "crosspath report quoting-20251129-2"
    assert parent.tags["mlflow.note.content"].splitlines()[0] == "# quoting-20251129-2"


def test_long_derivation_is_cut_visibly() -> None:
    """A name that is too long for MLflow ends with an ellipsis; the tag has the whole of it."""
    facts, judgement = evaluation()
    head = facts.head.model_copy(update={"derived_from": "a", "derivation": f"replay through {'raw, ' * 100}"})
    parent = layout(facts.model_copy(update={"head": head}), judgement, max_rows=10).parent
    assert len(parent.name) == 250
    assert parent.name.endswith("…")
    assert parent.tags["derivation"] == head.derivation


def test_nothing_scored_is_not_complete() -> None:
    """An evaluation without a single verdict is not shown as a success, whatever its status."""
    facts, judgement = evaluation()
    none = [
        one.model_copy(update={"cells": tuple(cell.model_copy(update={"scored": 0}) for cell in one.cells)})
        for one in judgement.decompositions
    ]
    found = layout(facts, judgement.model_copy(update={"decompositions": tuple(none)}), max_rows=10)
    assert [run.complete for run in (found.parent, *found.nested)] == [False] * 5


def test_description_that_is_too_long() -> None:
    """A description that doesn't fit ends with where the whole text is."""
    note = fit_note("a line of words\n" * 1_000, "bundle/report.md")
    assert len(note) <= MAX_TAG
    assert note.endswith("*Shortened: the whole text is in the artifact `bundle/report.md`.*\n")


@pytest.mark.parametrize(
    ("params", "metrics", "tags", "problem"),
    [
        ({"a" * 251: "x"}, {}, {}, "not a name"),
        ({"a\u00e9": "x"}, {}, {}, "not a name"),
        ({"a": "x" * 6_001}, {}, {}, "has 6001 characters, MLflow keeps 6000"),
        ({}, {}, {"a": "x" * 8_001}, "has 8001 characters, MLflow keeps 8000"),
        ({}, {"a": float("inf")}, {}, "metric a is inf"),
        ({}, {f"m{number}": 1.0 for number in range(MAX_METRICS + 1)}, {}, f"{MAX_METRICS + 1} metrics"),
    ],
)
def test_refused_before_logging(params: dict[str, str], metrics: dict[str, float], tags: dict[str, str], problem: str) -> None:
    """What MLflow would cut or drop is refused, with the name of the run and the key."""
    with pytest.raises(TrackerError, match=problem):
        check_run("a run", params, metrics, tags)


@given(st.text(st.characters(codec=None), max_size=300))
def test_any_name_becomes_acceptable(text: str) -> None:
    """Whatever a user calls a thing, the names made from it are accepted, and shown text can be stored."""
    check_run("run", {clean_name(text): "x"}, {}, {})
    assert re.fullmatch(r"[\w\-.]+", prompt_name(text), re.ASCII)
    assert "\0" not in shown(text).encode("utf-8").decode("utf-8")


def test_values_as_text() -> None:
    """None, booleans and structures have one readable form each; an empty text is visible."""
    assert [value_text(value) for value in (None, True, 0.5, "", [1, "a"])] == ["unset", "true", "0.5", "(empty)", '[1, "a"]']
    assert dict(flatten({"a": {"b": 1, "c d\u00e9": {}}, "e": None})) == {"a.b": 1, "e": None}


def test_candidate_that_is_the_reference() -> None:
    """A candidate with one cell has one run, which is its matched run."""
    facts, judgement = evaluation(names=("oracle",))
    one = judgement.decompositions[0]
    only = one.model_copy(update={"cells": one.cells[:1], "effects": (), "not_applicable": {"RN": "the shape doesn't fit"}})
    found = layout(facts, judgement.model_copy(update={"decompositions": (only,)}), 10)
    assert [run.tags["crosspath.role"] for run in found.nested] == ["matched"]
    assert found.nested[0].tags["cell.RN"] == "not applicable: the shape doesn't fit"


def test_odd_tasks_fit() -> None:
    """Names with quotes, colours and directions of writing pass all checks."""
    odd = task("odd/\u202e\U0001f600'\"\ud800", "odd")
    layout(*evaluation(names=("a/b '\u00e9'", "adaptive"), tasks=(odd,)), max_rows=10).check()


def test_estimates_in_words() -> None:
    """A number never travels without its method and n; one that could not be estimated says so."""
    assert estimate_text(estimate(-0.5), "pp") == "-50.0 pp [-70.0, -30.0] (t on family means, n = 3)"
    assert estimate_text(estimate(None, 0)) == "unknown (t on family means, n = 0)"


def test_links(tmp_path: Path) -> None:
    """Links open the evaluation-runs page: of the server, or of what `crosspath ui` serves."""
    assert evaluation_url("http://host:1/", "7", "a", "b") == (
        "http://host:1/#/experiments/7/evaluation-runs?selectedRunUuid=a&compareToRunUuid=b"
    )
    assert evaluation_url(embedded_uri(tmp_path), "7") == "http://127.0.0.1:5000/#/experiments/7/evaluation-runs"


def test_ui_server(tmp_path: Path) -> None:
    """The UI is served on this machine only; a running server needs none."""
    server = ui_server(embedded_uri(tmp_path), 5001)
    assert server.command[1:4] == ("-m", "mlflow", "server")
    assert ("--host", "127.0.0.1") in pairwise(server.command)
    with pytest.raises(ValueError, match="open it in a browser"):
        ui_server("https://mlflow.example")


@pytest.mark.parametrize(
    ("uri", "shown"),
    [
        ("http://me:s3cret@host:1/x", "http://me:***@host:1/x"),
        ("postgresql://me:s%403cret@host/db", "postgresql://me:***@host/db"),
        ("postgresql://host/db?user=me&password=s3cret", "postgresql://host/db?user=me&password=***"),
        ("mysql+pymysql://host/db?ssl_token=s3cret&charset=utf8", "mysql+pymysql://host/db?ssl_token=***&charset=utf8"),
        ("http://me@host", "http://me@host"),
        ("http://[no", "http://[no"),
    ],
)
def test_password_is_not_shown(uri: str, shown: str) -> None:
    """Wherever a password stands in an address, it is shown as three stars and the rest as it is."""
    assert without_password(f"{uri} failed", uri) == f"{shown} failed"


def test_no_password_for_others_to_see() -> None:
    """A link has no login, and no command line a password: other users of the machine can read both."""
    assert evaluation_url("http://me:s3cret@host:1", "7") == "http://host:1/#/experiments/7/evaluation-runs"
    assert "s3cret" not in " ".join(ui_server("postgresql://me:s3cret@host/db").command)


def test_address_from_any_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An embedded store that is named relative to a directory is meant from everywhere."""
    monkeypatch.chdir(tmp_path)
    assert absolute("sqlite:///mlflow.db") == f"sqlite:///{tmp_path}/mlflow.db"
    assert [absolute(uri) for uri in (f"sqlite:///{tmp_path}/a.db", "http://host:1")] == [
        f"sqlite:///{tmp_path}/a.db",
        "http://host:1",
    ]


def test_artifacts_beside_the_database(tmp_path: Path) -> None:
    """An embedded store keeps artifacts beside its file; a server decides for itself."""
    assert artifacts_beside(embedded_uri(tmp_path)) == tmp_path / "artifacts"
    assert artifacts_beside("http://host:1") is None
