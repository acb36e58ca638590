"""Chains that nobody wrote by hand: where one says that it can be survived, its encoding is exact."""

import shlex
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crosspath.transports import Path, assemble, layer_kinds, parse_path
from crosspath.types import Reply
from real_shell import execute

TEXTS = {
    "prefix": ["{ ", "cd . && ", "set -e; ", "timeout 5 ", "( "],
    "suffix": ["; }", " )", "; echo done $?", " && true", " 2>&1", " > /dev/null", " 2>&1 | cat", " &", '; echo "x"', " # end"],
    "line-guard": ["test $? = 0 || exit", ":"],
}
SLOW = {"typed", "tmux", "open-input", "output-waiting", "group-killing", "xargs"}
TERMINALS = [name for name, kind in layer_kinds().items() if hasattr(kind.example(), "runs") and name not in SLOW]
STEPS = [name for name, kind in layer_kinds().items() if not hasattr(kind.example(), "runs")]


@st.composite
def layers(draw: st.DrawFn, names: list[str]) -> dict[str, Any]:
    """One layer with options of its own."""
    name = draw(st.sampled_from(names))
    kind = layer_kinds()[name]
    options: dict[str, Any] = {key: draw(st.sampled_from(values)) for key, values in kind.choices.items()}
    options |= {key: draw(st.booleans()) for key, value in kind.options.items() if isinstance(value, bool)}
    if "text" in kind.required:
        options["text"] = draw(st.sampled_from(TEXTS[name]))
    if "find" in kind.options:
        found = draw(st.sampled_from("!$'\"\n <>|&;(%{,"))
        options |= {
            "find": f"[{found}]" if name == "replace-pattern" else found,
            "with": draw(st.sampled_from(["", " ", "\\", "x"])),
        }
    return {"layer": name, **options}


@st.composite
def chains(draw: st.DrawFn) -> Path:
    """A path of up to four steps and a terminal."""
    steps = draw(st.lists(layers(STEPS), max_size=4))
    return assemble(parse_path("random", [*steps, draw(layers(TERMINALS))], "random"))


CHARACTERS = "\\\"'`$!\n\t #~*?{}()[];&|<>=%^-+,:@/.\ré日ab0"
payloads = st.text(st.sampled_from(CHARACTERS) | st.characters(max_codepoint=126, min_codepoint=1), max_size=12)


@settings(max_examples=250, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(path=chains(), payload=payloads)
def test_what_says_that_it_can_be_survived_is_survived(path: Path, payload: str) -> None:
    """Whatever the layers and their order: an encoded command leaves the very bytes and tells its own status."""
    if not path.survivable:
        return
    reply = Reply(text=f"printf %s {shlex.quote(payload)} > out; exit 3")
    code, _, files = execute(*(action.command for action in path.deliver(reply, encoded=True).actions))
    assert (code, files) == (3, {"out": payload.encode()}), path.describe()


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(path=chains(), text=payloads)
def test_any_chain_delivers_any_text(path: Path, text: str) -> None:
    """A delivery never raises for what a reply holds, and tells its problem where nothing can be executed."""
    delivery = path.deliver(Reply(text=text))
    assert delivery.actions or delivery.problem
