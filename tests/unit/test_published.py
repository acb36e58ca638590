"""Published counts: every figure follows from them, nothing is made up, and a table that contradicts itself is refused."""

import copy
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import crosspath
from builders import evaluation
from crosspath.app.published import all_published, find_published, import_published, published_document
from crosspath.cli.entry import run
from crosspath.errors import ConfigError, StoreError
from crosspath.reports.published_tables import published_lines, published_rows, published_section

FILE = Path(__file__).parent.parent / "data" / "quotebench_published.json"
TABLE: dict[str, Any] = json.loads(FILE.read_text("utf-8"))


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty store that is the default one."""
    monkeypatch.setenv("CROSSPATH_STORE", str(tmp_path / "store"))
    return tmp_path / "store"


def written(tmp_path: Path, change: Callable[[dict[str, Any]], None], name: str = "table.json") -> Path:
    """The published table with one thing changed."""
    changed = copy.deepcopy(TABLE)
    change(changed)
    path = tmp_path / name
    path.write_text(json.dumps(changed), "utf-8")
    return path


# -- the figures -----------------------------------------------------------------------------------------------------------


def test_every_figure_of_the_table() -> None:
    """All 24 effects to the decimal, 26 comparable pairs, 5 strict reversals, 1 unambiguous, the pairs, tau-a 0.571."""
    document = published_document(import_published(FILE))
    assert len(document["effects"]) == len(TABLE["rows"]) == 8
    for stated, found in zip(TABLE["rows"], document["effects"], strict=True):
        assert found["model"] == stated["model"]
        for effect in ("damage_pp", "compensation_pp", "matched_gap_pp"):
            assert round(found[effect], 1) == stated[effect]
    order = document["orders"][0]
    assert (order["first"], order["second"], order["models"]) == ("RR", "NN", 8)
    assert (order["comparable_pairs"], order["strict_reversals"], order["unambiguous"]) == (26, 5, 1)
    assert order["pairs"] == TABLE["reversals"]["pairs"]
    assert f"{order['tau_a']:.3f}" == "0.571"
    assert f"{order['tau_b']:.3f}" == "0.593"
    assert "task" in document["interval"]


def test_what_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """The command prints citation, counts, effects, pairs and taus, and that there is no interval."""
    assert run(["import-published", str(FILE)]) == 0
    out = capsys.readouterr().out
    assert TABLE["source"] in out
    assert "26 comparable pairs, 5 strict reversals, 1 unambiguous" in out
    assert "tau-a 0.571, tau-b 0.593" in out
    assert "GPT-5.6-sol and Gemini-3.1-Pro (unambiguous)" in out
    assert "No interval and no probability of a reversal" in out
    assert "kept as published 'quotebench_published'" in out
    for row in TABLE["rows"]:
        line = next(line for line in out.splitlines() if line.strip().startswith(row["model"] + " "))
        for effect in ("damage_pp", "compensation_pp", "matched_gap_pp"):
            assert (f"{row[effect]:+.1f}" if row[effect] else "0.0") in line.split()


def test_json_is_one_document(capsys: pytest.CaptureFixture[str]) -> None:
    """With --json standard output is the document of the Python API, the same on the second import."""
    assert run(["import-published", str(FILE), "--json"]) == 0
    first = json.loads(capsys.readouterr().out)
    assert run(["import-published", str(FILE), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == first
    assert first == published_document(find_published("quotebench_published"))


def test_beside_an_evaluation_and_never_in_it() -> None:
    """The section is marked as published with its citation, has a table of its own, and the judgement stays what it was."""
    _, judgement = evaluation()
    before = judgement.to_json()
    section = published_section(import_published(FILE), judgement)
    assert judgement.to_json() == before
    published, measured = section.split("Measured in this evaluation")
    assert "Published, not measured here" in published
    assert "arXiv 2608.13547" in published
    assert "Gemini-3.1-Flash-Lite" in published
    assert "Gemini-3.1-Flash-Lite" not in measured
    assert "| oracle | 3/3 |" in measured
    assert "oracle" not in published


def test_a_cell_that_was_not_published_is_left_out(tmp_path: Path) -> None:
    """Effects and orders that need it are missing, not zero."""

    def change(table: dict[str, Any]) -> None:
        del table["reversals"]
        table["rows"] = [{"model": name, "n": 10, "passed": {"RR": 5, "NN": count}} for name, count in (("a", 1), ("b", 5))]

    published = import_published(written(tmp_path, change))
    assert published_rows(published)[0] == ("a", "5/10", "–", "–", "1/10", "–", "–", "-40.0")
    assert len(published_lines(published)) == 2
    assert "tau-a 0.000, tau-b –" in published_lines(published)[0]


def test_different_numbers_of_tasks_give_no_order(tmp_path: Path) -> None:
    """Counts of different numbers of tasks are not ranked against each other, and the line says so."""

    def change(table: dict[str, Any]) -> None:
        del table["reversals"]
        table["rows"] = [{"model": name, "n": n, "passed": {"RR": 5, "NN": 1}} for name, n in (("a", 10), ("b", 20))]

    published = import_published(written(tmp_path, change))
    assert "different numbers of tasks" in published_lines(published)[0]
    assert "reason" in published_document(published)["orders"][0]


def test_effects_may_be_printed_with_fewer_or_more_decimals(tmp_path: Path) -> None:
    """A stated effect is held to as many decimals as it is printed with."""

    def with_damage(value: object) -> Path:
        return written(tmp_path, lambda table: table["rows"][0].update(damage_pp=value))

    for good in (-64, -64.3, -64.29, -64.286):
        import_published(with_damage(good), replace=True)
    for bad in (-65, -64.4, -64.3001, -64.28):
        with pytest.raises(ConfigError, match=r"rows\[0\]\.damage_pp: .* does not follow"):
            import_published(with_damage(bad), replace=True)


# -- wrong files -----------------------------------------------------------------------------------------------------------


def _row(**fields: object) -> Callable[[dict[str, Any]], None]:
    return lambda table: table["rows"][2].update(fields)


def _count(cell: str, value: object) -> Callable[[dict[str, Any]], None]:
    return lambda table: table["rows"][2]["passed"].update({cell: value})


def _reversals(**fields: object) -> Callable[[dict[str, Any]], None]:
    return lambda table: table["reversals"].update(fields)


WRONG: list[tuple[Callable[[dict[str, Any]], Any], str]] = [
    (lambda table: table.pop("source"), "source: missing; it is where the counts were published"),
    (lambda table: table.update(source="  "), "source: must not be empty"),
    (lambda table: table.update(source=7), "source: 7 is not a text"),
    (lambda table: table.pop("rows"), "rows: missing; it is a list with one object per model"),
    (lambda table: table.update(rows=[]), "rows: empty; at least one row"),
    (lambda table: table.update(rows={}), "rows: {} is not a list"),
    (lambda table: table.update(row=[]), "unknown field \"row\"; did you mean 'rows'?"),
    (lambda table: table["rows"].append(3), "rows[8]: 3 is not an object of named fields"),
    (_row(model=""), "rows[2].model: must not be empty"),
    (_row(model="GPT-5.5"), "rows[2].model: 'GPT-5.5' has a row already"),
    (_row(n=0), "rows[2].n: 0 is not a whole number from 1 to 1000000000"),
    (_row(n=True), "rows[2].n: true is not a whole number"),
    (_row(n=53), "rows[2].passed.RR: 54 is not a whole number of passed tasks from 0 to n = 53"),
    (_row(pased={}), "rows[2]: unknown field \"pased\"; did you mean 'passed'?"),
    (_row(passed={}), "rows[2].passed: empty; at least one of RR, RN, NR, NN"),
    (_row(passed={"RR": 54}), "rows[2].damage_pp: -66.1 can't follow from the counts: damage needs RN and RR"),
    (_count("RR", -1), "rows[2].passed.RR: -1 is not a whole number of passed tasks from 0 to n = 56"),
    (_count("RR", 54.0), "rows[2].passed.RR: 54.0 is not a whole number"),
    (_count("RR", "54"), 'rows[2].passed.RR: "54" is not a whole number'),
    (_count("rr", 5), "rows[2].passed: unknown field \"rr\""),
    (_row(damage_pp=66.1), "rows[2].damage_pp: 66.1 does not follow from the counts: (RN 17 - RR 54) of 56 is -66.1 points"),
    (_row(damage_pp="-66.1"), "rows[2].damage_pp: \"-66.1\" is not a number of percentage points from -100 to 100"),
    (_row(contract_effect_pp=1.0), "rows[2].contract_effect_pp: 1.0 does not follow from the counts: (NR 24 - RR 54) of 56"),
    (_reversals(comparable_pairs=27), "reversals.comparable_pairs: 27 does not follow from the counts of RR and NN: they give"),
    (_reversals(strict_reversals=4), "reversals.strict_reversals: 4 does not follow from the counts of RR and NN: they give 5"),
    (_reversals(unambiguous=True), "reversals.unambiguous: True does not follow"),
    (_reversals(pairs=[]), "are reversed between RR and NN by the counts, and not listed"),
    (lambda table: table["reversals"]["pairs"][0].update(b="Qwen3.5-27B"), "pairs[0]: GPT-5.6-sol and Qwen3.5-27B are not"),
    (lambda table: table["reversals"]["pairs"][0].update(unambiguous=True), "pairs[0].unambiguous: True does not follow"),
    (lambda table: table.update(rows=table["rows"][:1]), "reversals: can't follow from the counts: fewer than two models"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "problem"), WRONG, ids=[problem[:50] for _, problem in WRONG])
def test_a_wrong_table_is_refused(
    change: Callable[[dict[str, Any]], Any], problem: str, tmp_path: Path, store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line with file, field, value and what would be right; exit code 2; nothing is kept."""
    path = written(tmp_path, change)
    assert run(["import-published", str(path)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith(f"crosspath: {path}: ")
    assert problem in err
    assert not store.exists()


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "not readable as JSON: Expecting value in line 1, column 1"),
        (b"[1]", "[1] is not an object of named fields"),
        (b'{"source": "a", "source": "b"}', "the field 'source' stands twice"),
        (b'{"source": NaN}', "NaN is no JSON number"),
        (b"\xff\xfe", "not UTF-8"),
        (b"[" * 200_000, "nested too deeply"),
        (b'{"source": "\\ud800", "rows": []}', "valid Unicode"),
        (b'{"n": ' + b"9" * 5000 + b"}", "not readable as JSON"),
        (b" " * 10_000_001, "larger than 10,000,000 bytes"),
    ],
    ids=["empty", "list", "twice", "nan", "bytes", "deep", "surrogate", "digits", "large"],
)
def test_what_is_no_table_is_refused(content: bytes, problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever the file holds, one line says what is wrong with it."""
    path = tmp_path / "table.json"
    path.write_bytes(content)
    assert run(["import-published", str(path)]) == 2
    err = capsys.readouterr().err
    assert problem in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(("name", "problem"), [("nix.json", "No such file"), (".", "Is a directory")])
def test_a_file_that_is_not_there(name: str, problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A path without a file is a mistake of the user, too."""
    assert run(["import-published", str(tmp_path / name), "--name", "x"]) == 2
    assert problem in capsys.readouterr().err


# -- the store -------------------------------------------------------------------------------------------------------------


def test_importing_twice_changes_nothing(store: Path) -> None:
    """The same file again keeps what is there, to the byte."""
    first = crosspath.import_published(FILE)
    content = (store / "published" / "quotebench_published.json").read_bytes()
    assert crosspath.import_published(FILE) == first
    assert (store / "published" / "quotebench_published.json").read_bytes() == content
    assert [path.name for path in (store / "published").iterdir()] == ["quotebench_published.json"]


def test_another_table_does_not_take_a_name(tmp_path: Path) -> None:
    """A name that is taken is said, with both ways out; each of them works."""
    import_published(FILE, name="table")
    other = written(tmp_path, lambda table: table.update(source="another paper"))
    with pytest.raises(ConfigError, match="'table' is another table already; give this one --name, or --replace that one"):
        import_published(other)
    assert find_published("table").citation == TABLE["source"]
    import_published(other, name="other")
    import_published(other, replace=True)
    assert [one.citation for one in all_published()] == ["another paper", "another paper"]


@pytest.mark.parametrize("name", ["../x", "a/b", "", ".hidden", "a b", "x" * 65])
def test_a_name_is_no_path(name: str, store: Path) -> None:
    """A name with other characters than a file's is refused before anything is written."""
    with pytest.raises(ConfigError, match=r"--name: .* is no name for a published table"):
        import_published(FILE, name=name)
    assert not store.exists()


def test_list_show_and_remove(capsys: pytest.CaptureFixture[str]) -> None:
    """Tables are listed with their source, shown with what follows from them, and forgotten on request."""
    assert run(["published", "list"]) == 0
    assert "no published table" in capsys.readouterr().out
    import_published(FILE, name="qb")
    assert run(["published", "list"]) == 0
    assert "QuoteBench" in capsys.readouterr().out
    assert run(["published", "show", "qb"]) == 0
    assert "tau-a 0.571" in capsys.readouterr().out
    assert run(["published", "remove", "qb"]) == 0
    assert run(["published", "show", "qb"]) == 2
    assert "no published table 'qb'" in capsys.readouterr().err
    assert run(["published", "list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == []


def test_a_damaged_file_of_the_store_is_said(store: Path) -> None:
    """What something else wrote there is not taken for a table."""
    import_published(FILE, name="qb")
    (store / "published" / "qb.json").write_text("{}")
    with pytest.raises(StoreError, match=r"reading .*qb\.json"):
        find_published("qb")


@pytest.mark.parametrize("name", ["a|b", "<script>x</script>", "\x1b[31mred", "x\n# y"])
def test_hostile_names_stay_text(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Names and citations of a file break neither terminal nor Markdown."""

    def change(table: dict[str, Any]) -> None:
        table.pop("reversals")
        table["source"] = table["rows"][0]["model"] = name

    path = written(tmp_path, change)
    assert run(["import-published", str(path)]) == 0
    assert "\x1b" not in capsys.readouterr().out
    section = published_section(find_published("table"), evaluation()[1])
    assert "<script" not in section
    assert not any(line.startswith("# ") for line in section.splitlines())
    rows = [line for line in section.split("Measured in")[0].splitlines() if line.startswith("|")]
    assert {line.replace("\\|", "").count("|") for line in rows} == {9}


# -- bounds ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "stated", ["1e-999999999999", "-2e-30000000", "0e-99999999", "0e99999999", "1e9999999999999999999999", "1.00000", "1e400"]
)
@pytest.mark.parametrize("field", ["damage_pp", "n"])
def test_a_number_out_of_bounds_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str], stated: str, field: str) -> None:
    """A stated number with too many decimals or a huge exponent is refused with one line and exit code 2."""
    path = written(tmp_path, lambda table: table["rows"][0].update({field: "HERE"}))
    path.write_text(path.read_text("utf-8").replace('"HERE"', stated), "utf-8")
    assert run(["import-published", str(path)]) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1


def test_a_reversal_count_with_a_huge_exponent_is_refused(tmp_path: Path) -> None:
    """A stated count of reversals with an exponent of millions is compared, not expanded."""
    path = written(tmp_path, lambda table: table["reversals"].update({"unambiguous": "HERE"}))
    path.write_text(path.read_text("utf-8").replace('"HERE"', "1e-30000000"), "utf-8")
    with pytest.raises(ConfigError, match="does not follow"):
        import_published(path)


def test_too_many_models_are_refused(tmp_path: Path) -> None:
    """A table has at most 200 models."""
    row = TABLE["rows"][0]
    path = written(tmp_path, lambda table: table.update(rows=[row | {"model": str(number)} for number in range(201)]))
    with pytest.raises(ConfigError, match="201 rows; at most 200"):
        import_published(path)


# -- at once ---------------------------------------------------------------------------------------------------------------


def test_of_two_imports_at_once_under_one_name_one_is_told(tmp_path: Path, store: Path) -> None:
    """Different tables that race for a name: one is kept as it was given, all others are refused, nothing is left beside it."""

    def sourced(number: int) -> Path:
        return written(tmp_path, lambda table: table.update(source=f"paper {number}"), f"{number}.json")

    def outcome(path: Path) -> str:
        try:
            return import_published(path, name="same").citation
        except ConfigError as error:
            return "" if "is another table already" in str(error) else str(error)

    with ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(outcome, [sourced(number) for number in range(8)]))
    assert [one for one in outcomes if one] == [find_published("same").citation]
    assert [path.name for path in (store / "published").iterdir()] == ["same.json"]
