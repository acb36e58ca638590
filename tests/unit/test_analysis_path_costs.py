"""What each path costs: ranks, damage, who is told apart from the best, and who is no part of the ranking."""

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crosspath.analysis import compare
from crosspath.analysis.path_costs import PathOption, path_ranking, rank_paths
from crosspath.analysis.path_tables import PATH_COLUMNS, path_lines, path_rows, path_section, several, short_row
from crosspath.types import CellRow, Control, PathCost

HOLDS = Control(kind="encoded", status="holds", compared=3, trials=3)
BROKEN = Control(kind="benign", status="broken", compared=3, trials=3, reason="2 differ every time")
NONE_NEEDED = Control(kind="none", status="holds", compared=0)
MARKS = {"1": True, "0": False, "s": False, "?": None, "~": False, "!": None}


def rows_of(outcomes: str, family_size: int = 2) -> tuple[CellRow, ...]:
    """One row per character: ``1`` right, ``0`` wrong, ``s`` silently so, ``?`` missing, ``~`` unstable, ``!`` no program."""
    return tuple(
        CellRow(
            task=f"t{place:03}",
            family=f"f{place // family_size}",
            passed=MARKS[char],
            silent_wrong=char == "s",
            unstable=char == "~",
            cause={"0": "tool_error", "s": "wrong_state", "?": "fault:timeout", "!": "fault:missing_program"}.get(char),
        )
        for place, char in enumerate(outcomes)
    )


def option(path: str, outcomes: str, on_reference: str = "", control: Control = HOLDS, generation: str = "g") -> PathOption:
    """A path that carried the replies of a generation; the reference where ``on_reference`` is empty."""
    return PathOption(
        path=path,
        candidate=f"m via {path}",
        told="R",
        done="N" if on_reference else "R",
        contract="raw",
        generation=generation,
        rows=rows_of(outcomes),
        on_reference=rows_of(on_reference) if on_reference else None,
        control=control if on_reference else NONE_NEEDED,
        reference=not on_reference,
    )


RIGHT = "1" * 24


def ranked(**outcomes: str) -> dict[str, PathCost]:
    """Path -> its cost beside a reference on which every reply is right."""
    options = [option("raw", RIGHT), *(option(path, text, RIGHT) for path, text in outcomes.items())]
    return {path.path: path for path in rank_paths(options)}


class TestRanking:
    def test_pass_rate_then_silent_wrongs(self) -> None:
        """The better pass rate comes first; of equal ones the path that reports more of its failures."""
        found = ranked(loud="0000" + RIGHT[4:], quiet="ssss" + RIGHT[4:], good="0" + RIGHT[1:])
        assert [(path.path, path.rank) for path in found.values()] == [("raw", 1), ("good", 2), ("loud", 3), ("quiet", 4)]
        assert (found["quiet"].silent, found["loud"].silent, found["quiet"].wrong) == (4, 0, 4)

    def test_equal_paths_share_a_rank(self) -> None:
        """Paths that tie have one rank, the reference first, and the next one counts those before it."""
        found = ranked(a=RIGHT, b=RIGHT, c="0" + RIGHT[1:])
        assert [(path.path, path.rank, path.standing) for path in found.values()] == [
            ("raw", 1, "best"), ("a", 1, "equal"), ("b", 1, "equal"), ("c", 4, "not_told_apart"),
        ]  # fmt: skip

    def test_a_single_path(self) -> None:
        """One path is the best of itself: nothing is compared."""
        (only,) = rank_paths([option("raw", "10")])
        assert (only.rank, only.standing, only.to_best, only.damage) == (1, "best", None, None)

    def test_nothing_to_rank(self) -> None:
        """A ranking of nothing is a mistake of the caller."""
        with pytest.raises(ValueError, match="nothing to rank"):
            path_ranking("m", [])


class TestDamage:
    def test_exact_for_these_replies(self) -> None:
        """Damage is the same replies here less on the reference, with what was lost and gained."""
        found = rank_paths([option("raw", "1100"), option("x", "0110", "1100")])
        x = next(path for path in found if path.path == "x")
        assert x.damage is not None
        assert x.damage_population is not None
        assert (x.damage.value, x.damage.low, x.damage.high, x.damage.estimand) == (0.0, 0.0, 0.0, "these_replies")
        assert (x.lost, x.gained, x.damage_population.estimand) == (1, 1, "task_population")

    def test_not_seen_where_nothing_passes(self) -> None:
        """Where no reply passes on the reference there is nothing to break, and no damage is shown."""
        x = next(path for path in rank_paths([option("raw", "0000"), option("x", "0000", "0000")]) if path.path == "x")
        assert (x.damage, x.control) == (None, "blind")

    def test_bounds_over_what_is_missing(self) -> None:
        """Missing replays widen damage to what they could have made of it."""
        x = ranked(x="????" + RIGHT[4:])["x"]
        assert x.damage is not None
        assert (x.damage.low, x.damage.high) == (-4 / 24, 0.0)


class TestApart:
    def test_a_broken_control_is_not_ranked(self) -> None:
        """A path whose control is broken is listed last, without rank, damage or difference, however well it looks."""
        found = rank_paths([option("raw", "1100"), option("x", "1111", "1100", BROKEN), option("y", "0000", "1100")])
        assert [(path.path, path.rank, path.apart) for path in found] == [
            ("raw", 1, None), ("y", 2, None), ("x", None, "broken_control"),
        ]  # fmt: skip
        assert (found[2].damage, found[2].to_best, found[2].reason) == (None, None, "2 differ every time")

    def test_a_missing_program_is_not_zero(self) -> None:
        """A path that could not be tried is never one that fails."""
        needs = replace(option("t", "!" * 24, RIGHT), needs="the path needs the program 'tmux'")
        found = rank_paths([option("raw", RIGHT), needs])
        assert (found[1].apart, found[1].rank, found[1].cell.rate.value) == ("untried", None, None)
        (line,) = path_lines([path_ranking("m", [option("raw", RIGHT), needs])])
        assert line.endswith("could not be tried (the path needs the program 'tmux'): t.")

    def test_too_little_observed(self) -> None:
        """Below half of the trials nothing is ranked: a path never wins by what it lacks."""
        found = ranked(x="?" * 13 + "1" * 11, y="?" * 12 + "1" * 12)
        assert (found["x"].apart, found["x"].reason) == ("unobserved", "11 of 24 trials have a verdict")
        assert found["y"].rank == 1


class TestAgainstTheBest:
    def test_intervals_hold_together(self) -> None:
        """Each of k - 1 differences gets its share of the error, and is named so; p is multiplied; alone nothing changes."""
        texts = {"a": "0" * 8 + RIGHT[8:], "b": "0101" * 6, "c": "10" * 12}
        alone = compare("raw", "a", rows_of(RIGHT), rows_of(texts["a"])).difference
        assert ranked(a=texts["a"])["a"].to_best == alone
        together = ranked(**texts)["a"].to_best
        assert together is not None
        assert alone.low is not None
        assert together.low is not None
        assert together.low < alone.low
        assert together.value == alone.value
        assert together.p_value == min(1.0, 3 * (alone.p_value or 0))
        assert together.method.endswith("Bonferroni over 3 comparisons")

    def test_a_clear_difference_is_told_apart(self) -> None:
        """What breaks most of every family is worse beyond these tasks; what breaks one task is not shown to be."""
        found = ranked(bad="0" * 22 + "11", close="0" + RIGHT[1:])
        assert (found["bad"].standing, found["close"].standing) == ("told_apart", "not_told_apart")
        assert (found["bad"].changed, found["close"].changed) == (22, 1)

    def test_missing_trials_may_hide_that_it_is_as_good(self) -> None:
        """A path is not told apart by trials that it lacks."""
        assert ranked(x="0" * 12 + "?" * 12)["x"].standing == "told_apart"
        assert ranked(x="0" * 2 + "?" * 11 + "0" * 11)["x"].standing == "told_apart"
        assert ranked(x="0" * 4 + "1" * 8 + "?" * 12)["x"].standing == "not_told_apart"

    def test_missing_trials_are_not_the_same(self) -> None:
        """A path of which some trials are lost is not called the same, although none of the others differs."""
        assert ranked(x="1" * 23 + "?")["x"].standing == "not_told_apart"

    def test_another_generation_is_never_the_same(self) -> None:
        """Equal outcomes of other replies are no proof: they are not told apart, and no reply has changed."""
        other = option("other", RIGHT, RIGHT, generation="h")
        found = {path.path: path for path in rank_paths([option("raw", RIGHT), other])}
        assert (found["other"].standing, found["other"].changed) == ("not_told_apart", None)

    def test_one_family_gives_no_interval(self) -> None:
        """With one family nothing is said beyond these tasks."""
        options = [replace(one, rows=tuple(row.model_copy(update={"family": "f"}) for row in one.rows))
                   for one in (option("raw", "1111"), option("x", "0000"))]  # fmt: skip
        found = rank_paths(options)
        assert (found[1].standing, found[1].to_best and found[1].to_best.low) == ("not_told_apart", None)


OUTCOMES = st.lists(st.text("01s?~", min_size=12, max_size=12), min_size=1, max_size=6)


def facts(paths: tuple[PathCost, ...]) -> list[tuple[object, ...]]:
    """What a ranking says, without names; those apart are in the order of their names, which is none."""
    said: list[tuple[object, ...]] = [
        (path.rank, path.apart, path.standing, path.changed, path.cell.passed, path.silent, path.damage, path.to_best)
        for path in paths
    ]
    return [one for one in said if one[0]] + sorted((one for one in said if not one[0]), key=repr)


class TestProperties:
    @settings(max_examples=40)
    @given(OUTCOMES, st.randoms(use_true_random=False))
    def test_the_order_given_plays_no_part(self, outcomes: list[str], shuffler: random.Random) -> None:
        """Options in another order give the same ranking, name by name."""
        options = [option(f"p{place}", text, "1" * 12) for place, text in enumerate(outcomes)]
        shuffled = list(options)
        shuffler.shuffle(shuffled)
        assert rank_paths(shuffled) == rank_paths(options)

    @settings(max_examples=40)
    @given(OUTCOMES, st.randoms(use_true_random=False))
    def test_names_play_no_part(self, outcomes: list[str], shuffler: random.Random) -> None:
        """Paths under other names have the same ranks, standings and numbers."""
        names = [f"p{place}" for place in range(len(outcomes))]
        others = list(names)
        shuffler.shuffle(others)
        first = rank_paths([option(name, text, "1" * 12) for name, text in zip(names, outcomes, strict=True)])
        second = rank_paths([option(name, text, "1" * 12) for name, text in zip(others, outcomes, strict=True)])
        assert facts(first) == facts(second)

    @settings(max_examples=40)
    @given(OUTCOMES)
    def test_ranks_follow_the_rates(self, outcomes: list[str]) -> None:
        """Nobody ranks above a path with a higher pass rate, or with as high a rate and fewer silent wrongs."""
        found = [path for path in rank_paths([option(f"p{n}", text, "1" * 12) for n, text in enumerate(outcomes)]) if path.rank]
        merits = [(-(path.cell.rate.value or 0), path.cell.silent_wrong.value or 0) for path in found]
        assert merits == sorted(merits)
        assert [path.rank for path in found] == [1 + merits.index(merit) for merit in merits]


class TestWords:
    def test_one_sentence(self) -> None:
        """A ranking in one sentence: the best, its equals, what is not told apart, what is, what is not ranked."""
        options = [
            option("raw", RIGHT), option("same", RIGHT, RIGHT), option("close", "0" + RIGHT[1:], RIGHT),
            option("bad", "s" * 22 + "11", RIGHT), option("odd", RIGHT, RIGHT, BROKEN),
        ]  # fmt: skip
        assert path_lines([path_ranking("m", options)]) == [
            "The replies of m, told raw, on 5 paths: best raw, 24 of 24 right; the same on every task: same; "
            "not told apart from it: close; told apart: 1, the last bad (22 of 24 wrong, 22 of them silently); "
            "control broken, not ranked: odd (2 differ every time)."
        ]

    def test_report_rows_and_short_rows(self) -> None:
        """Every path is in the section, in the rows for a DataFrame and in the narrow table."""
        ranking = path_ranking("m|x", [option("raw", RIGHT), option("bad", "s" * 12 + "1" * 12, RIGHT)])
        section = path_section([ranking])
        assert "| 2 | bad | 12 of 24 |" in section
        assert "12: 50.0 %" in section
        assert path_section([]) == ""
        rows = path_rows([ranking])
        assert [tuple(row) for row in rows] == [PATH_COLUMNS] * 2
        assert (rows[1]["damage"], rows[1]["lost"], rows[1]["silent"], rows[0]["standing"]) == (-0.5, 12, 12, "best")
        assert short_row(ranking.paths[1])[:3] == ("2", "bad", "12/24")

    def test_many_names_are_counted(self) -> None:
        """A sentence names some, and says how many more; never only one more."""
        assert several([]) == ""
        assert several(["a"]) == "a"
        assert several(["a", "b", "c"]) == "a, b and c"
        assert several(list("abcde")) == "a, b, c, d and e"
        assert several(list("abcdef")) == "a, b, c, d and 2 more"
