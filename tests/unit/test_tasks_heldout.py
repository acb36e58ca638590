"""Families drawn afresh: one held-out task per variant and draw, with its twin, its tier and its hazards."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crosspath.catalogue import catalogue_tasks, heldout_families, heldout_tasks
from crosspath.errors import ConfigError
from crosspath.tasks import expand_family, expand_heldout, has_heldout
from crosspath.tasks.choosing import same_name
from crosspath.tasks.hazards import HAZARDS, found_in
from crosspath.types import Task

SEED = "a seed of enough letters"
SEEDS = (SEED, "another seed, long enough", "0123456789abcdef")
MARKED = re.compile("⟪(.*?)⟫", re.DOTALL)
HEAD = """
name: own
defaults: {path: a.txt}
instruction: "Write ⟪{{ text }}⟫ to {{ path }}."
expected: {"{{ path }}": "{{ text }}\\n"}
naive: echo "{{ text }}" > {{ path }}
"""
DRAWN = """
heldout:
  draw: {text: {shape: line}}
  oracle: "printf '%s\\\\n' {{ text | quote }} > {{ path }}"
"""
VARIANTS = """
variants:
  - {name: calm, tier: 0, vars: {text: hello}, oracle: echo hello > a.txt}
  - {name: price, tier: 2, hazards: [dollar, apostrophe], vars: {text: it's $5, path: b.txt}, oracle: "true", naive: "false"}
"""


def expand(heldout: str = DRAWN, variants: str = VARIANTS, head: str = HEAD, draws: int = 1) -> tuple[Task, ...]:
    return expand_heldout(head + heldout + variants, "own.yaml", SEED, draws)


def complaint(heldout: str = DRAWN, variants: str = VARIANTS, seed: str = SEED) -> str:
    """What is said about such a family."""
    with pytest.raises(ConfigError) as caught:
        expand_heldout(HEAD + heldout + variants, "own.yaml", seed)
    assert "\n" not in str(caught.value)
    assert seed not in str(caught.value)
    return str(caught.value)


class TestFamilies:
    def test_each_variant_once_more(self) -> None:
        """Ids, twins, tiers and hazards follow the variants; the payload is another one that holds the same hazards."""
        calm, price = expand()
        assert (calm.id, calm.twin, calm.tier, calm.hazards) == ("own/calm-heldout", "own/calm", 0, ())
        assert (price.id, price.twin, price.tier, price.hazards) == (
            "own/price-heldout", "own/price", 2, ("dollar", "apostrophe"),
        )  # fmt: skip
        assert {calm.partition, price.partition} == {"heldout"}
        (payload,) = MARKED.findall(price.instruction)
        assert found_in(payload) == {"dollar", "apostrophe"}
        assert price.expected[0].content == f"{payload}\n".encode()
        assert payload != "it's $5"

    def test_nothing_of_a_variants_own_is_used(self) -> None:
        """Its variables and its literal commands belong to the public payload: the draw has those of the templates."""
        _, price = expand()
        assert price.expected[0].path == b"a.txt"
        assert price.naive == f'echo "{MARKED.findall(price.instruction)[0]}" > a.txt'
        assert price.oracle is not None
        assert price.oracle.startswith("printf ")

    def test_draws_are_numbered(self) -> None:
        """Several draws of a variant are several tasks with one twin; the first ones are those of fewer draws."""
        three = expand(draws=3)
        assert [task.id for task in three[:3]] == ["own/calm-heldout", "own/calm-heldout2", "own/calm-heldout3"]
        assert {task.twin for task in three[:3]} == {"own/calm"}
        assert len({task.instruction for task in three}) == 6
        assert (three[0], three[3]) == expand()

    def test_a_variant_added_changes_no_other(self) -> None:
        """The same seed gives a variant the same draw, whatever stands beside it."""
        more = VARIANTS.replace("variants:\n", "variants:\n  - {name: first, vars: {text: x}}\n")
        assert expand(variants=more)[1:] == expand()

    def test_vars_follow_the_draw(self) -> None:
        """Variables may build on what was drawn, and on each other in their order."""
        section = "heldout:\n  draw: {word: {shape: word}}\n  vars: {twice: '{{ word }} {{ word }}', text: '<{{ twice }}>'}\n"
        (task,) = expand(section, "variants: [{name: one, vars: {text: x}}]")
        first, second = MARKED.findall(task.instruction)[0].strip("<>").split(" ")
        assert first == second

    def test_tiers_have_their_own(self) -> None:
        """What a tier says goes before the section, field by field and payload by payload."""
        section = DRAWN + "  tiers:\n    \"0\": {draw: {text: {shape: word}}, naive: 'echo {{ text }} > {{ path }}'}\n"
        calm, price = expand(section)
        word = MARKED.findall(calm.instruction)[0]
        assert word.isalpha()
        assert calm.naive == f"echo {word} > a.txt"
        assert price == expand()[1]

    def test_without_the_section_nothing_is_drawn(self) -> None:
        """A family that does not say how has public tasks only, and so has a plain list."""
        assert expand(heldout="") == ()
        assert not has_heldout(HEAD + VARIANTS, "own.yaml")
        assert has_heldout(HEAD + DRAWN + VARIANTS, "own.yaml")
        assert expand_heldout("- {id: a, family: f, instruction: do, expected: {}}", "list.yaml", SEED) == ()

    def test_public_tasks_are_as_without_it(self) -> None:
        """The section changes no public task."""
        assert expand_family(HEAD + DRAWN + VARIANTS, "own.yaml") == expand_family(HEAD + VARIANTS, "own.yaml")


class TestMistakes:
    @pytest.mark.parametrize("seed", ["", "x", "x" * 15])
    def test_a_short_seed(self, seed: str) -> None:
        """Too short to be kept a secret: refused, with its length alone."""
        with pytest.raises(ConfigError, match=f"has {len(seed)} characters; at least 16 are needed"):
            expand_heldout(HEAD + DRAWN + VARIANTS, "own.yaml", seed)

    @pytest.mark.parametrize(
        ("heldout", "line"),
        [
            ("heldout: [draw]\n", 'own.yaml: heldout: ["draw"] is not an object of named fields'),
            ("heldout: {drew: {}}\n", "own.yaml: heldout: unknown field \"drew\"; did you mean 'draw'?"),
            ("heldout: {tier: 2}\n", "own.yaml: heldout: unknown field \"tier\"; did you mean 'tiers'?"),
            ("heldout: {tiers: {'4': {}}}\n", 'own.yaml: heldout.tiers: unknown field "4"; known: 0, 1, 2, 3'),
            ("heldout: {tiers: {'0': {tiers: {}}}}\n", 'own.yaml: heldout.tiers.0: unknown field "tiers"'),
            ("heldout: {draw: {text: {shape: lime}}}\n", "own.yaml:10: heldout (calm).draw.text.shape: unknown shape 'lime'"),
            ("heldout: {draw: {text: {shape: word}}}\n", "own.yaml:11: heldout (price).draw: no payload may carry the hazard 'a"),
            ("heldout: {draw: {word: {shape: line}}}\n", "own.yaml:10: heldout (calm).instruction: "),
            ("heldout: {draw: {text: {shape: line}}, vars: {a: '{{ b }}'}}\n", "own.yaml:10: heldout (calm).vars.a: "),
            ("heldout: {draw: {text: {shape: line}}, oracle: '{{ text'}\n", "own.yaml:10: heldout (calm).oracle: "),
        ],
    )
    def test_one_line(self, heldout: str, line: str) -> None:
        """Where it stands, of which variant, and what would be right."""
        assert line in complaint(heldout)

    def test_an_unknown_hazard(self) -> None:
        """A tag of one's own can't be drawn: said before anything is."""
        variants = "variants: [{name: one, hazards: [sneaky], vars: {text: x}}]"
        assert "payloads can't be drawn for the hazard 'sneaky'" in complaint(variants=variants)


@given(st.integers(0, 10**9).map(lambda number: f"seed {number:020d}"))
def test_every_seed_gives_what_its_variants_promise(seed: str) -> None:
    """Whatever the seed: unique ids, the hazards of each variant in its payload and no other."""
    tasks = expand_heldout(HEAD + DRAWN + VARIANTS, "own.yaml", seed, 2)
    assert len({task.id for task in tasks}) == 4
    assert [found_in(MARKED.findall(task.instruction)[0]) for task in tasks] == [set(task.hazards) for task in tasks]


@pytest.fixture(scope="module")
def drawn() -> dict[str, tuple[Task, ...]]:
    """Seed -> two draws of all that ships."""
    return {seed: heldout_tasks(seed, 2) for seed in SEEDS}


class TestCatalogue:
    def test_every_variant_is_drawn(self, drawn: dict[str, tuple[Task, ...]]) -> None:
        """Each family that ships can be drawn, each variant as often as asked, in the same tier and with the same hazards."""
        public = {task.id: task for task in catalogue_tasks()}
        for tasks in drawn.values():
            assert sorted(task.twin or "" for task in tasks) == sorted([*public, *public])
            for task in tasks:
                twin = public[task.twin or ""]
                assert (task.family, task.tier, task.hazards) == (twin.family, twin.tier, twin.hazards)
                assert (task.infeasible is None) == (twin.infeasible is None)

    def test_no_two_tasks_are_the_same(self, drawn: dict[str, tuple[Task, ...]]) -> None:
        """Over three seeds and two draws, every held-out task differs from every public one and from each other."""
        named = [("public", task) for task in catalogue_tasks()]
        named += [(seed, task) for seed, tasks in drawn.items() for task in tasks]
        seen: dict[str, tuple[str, str]] = {}
        for source, task in named:
            content = task.model_copy(update={"id": ""}).digest  # as it would be compared without its name
            assert content not in seen, f"{source} {task.id} is {seen[content]} again"
            seen[content] = source, task.id

    def test_ids_are_unique(self, drawn: dict[str, tuple[Task, ...]]) -> None:
        """Up to case and Unicode form, public tasks included."""
        for tasks in drawn.values():
            names = [same_name(task.id) for task in (*catalogue_tasks(), *tasks)]
            assert len(names) == len(set(names))

    def test_hazards_are_there(self, drawn: dict[str, tuple[Task, ...]]) -> None:
        """Each hazard that a held-out task lists stands in one of its marked payloads, and none that its twin does not have."""
        public = {task.id: task for task in catalogue_tasks()}
        for task in (task for tasks in drawn.values() for task in tasks):
            found, listed = _marked(task), set(task.hazards) & HAZARDS.keys()
            assert listed <= found, f"{task.id} lacks {listed - found}"
            assert found <= listed | _marked(public[task.twin or ""]), f"{task.id}: {found - listed}"

    def test_names_fit_a_file_system(self, drawn: dict[str, tuple[Task, ...]]) -> None:
        """No path of a drawn fixture or expected state has a part of more than 255 bytes."""
        for task in (task for tasks in drawn.values() for task in tasks):
            for entry in (*task.fixture, *task.expected):
                assert all(0 < len(part) <= 255 for part in entry.path.split(b"/")), task.id

    def test_no_seed_is_in_them(self, drawn: dict[str, tuple[Task, ...]]) -> None:
        """A task tells nothing of the seed that it was drawn from."""
        for seed, tasks in drawn.items():
            assert not [task.id for task in tasks if seed in task.to_json()]


def _marked(task: Task) -> set[str]:
    texts = [task.instruction, *(message.content for message in task.messages)]
    return {tag for text in texts for payload in MARKED.findall(text) for tag in found_in(payload)}


def test_hash_seeds_change_nothing() -> None:
    """Two processes in which Python orders its sets differently draw the same tasks."""
    files = [str(path) for path in heldout_families()[:4]]
    code = (
        "import sys; from pathlib import Path; from crosspath.catalogue import heldout_tasks\n"
        f"print(*(t.digest for t in heldout_tasks({SEED!r}, 2, [Path(name) for name in sys.argv[1:]])))"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", code, *files],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True, text=True, check=True, timeout=120,
        ).stdout
        for hash_seed in ("1", "2")
    }  # fmt: skip
    assert len(found) == 1
    assert found.pop().split() == [task.digest for task in heldout_tasks(SEED, 2, [Path(name) for name in files])]
