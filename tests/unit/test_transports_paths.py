"""Paths: presets, names, users' own chains and harnesses, digests, survivability, cost."""

import json
import time
from typing import Any, get_args

import pytest
import yaml

from crosspath.errors import ConfigError
from crosspath.transports import Path, assemble, find_path, parse_path, preset, preset_names, survivable_presets
from crosspath.types import Cleanup, Contract, External, PathSpec, Reply, ToolCall

JSON_CONTRACT = Contract(name="json", shape="json", reference="json", text="x")
FENCE_LIKE = "`" * 100_000 + " `"
HARNESS = {"external": {"argv": ["python3", "run.py"], "bind": ["/opt/h"], "env": {"MODE": "fast"}}}


def own(config: Any) -> Path:
    """A user's path."""
    return assemble(parse_path("mine", config, "spec.yaml"))


def test_names_of_the_shipped_paths() -> None:
    """These names are what users write in their specs."""
    plain = (
        "raw", "nested-shell", "nested-shell-escaped", "single-quoted-shell", "unquoted-shell", "script-file", "standard-input",
        "ssh", "docker-exec", "json", "tool-call", "json-string", "json-string-twice", "json-repaired", "xml-element", "dash",
    )  # fmt: skip
    assert preset_names()[: len(plain)] == plain
    assert len(preset_names()) >= 70


NOT_SURVIVABLE = {
    "make-recipe", "length-limited", "open-input", "remote-shell", "tags-removed", "tmux", "typed",
    "typed-bytewise", "typed-without-editing", "output-waiting", "group-killing", "output-filtered",
    "strict-output", "xargs",
}  # fmt: skip
"""The status is not the command's own, or what is lost can't be written in another way."""


def test_which_shipped_paths_can_not_be_survived() -> None:
    """All but a few paths have an encoding for every text; a path that loses it by accident would lose its control."""
    assert {name for name in preset_names() if not assemble(preset(name)).survivable} == NOT_SURVIVABLE
    assert set(survivable_presets()) == set(preset_names()) - NOT_SURVIVABLE - {"json", "tool-call"}


@pytest.mark.parametrize("name", sorted(NOT_SURVIVABLE))
def test_what_can_not_be_survived_says_so(name: str) -> None:
    """Encoding for such a path is refused, never guessed."""
    with pytest.raises(ValueError, match="no encoding"):
        assemble(preset(name)).encode("true")
    assert yaml.safe_load(assemble(preset(name)).describe())["obstacle"]


def test_what_is_imitated_is_said() -> None:
    """Remote machines, cron, compose, PowerShell and libraries of other languages are imitated; shells, make, tmux are real."""
    imitated = {name for name in preset_names() if assemble(preset(name)).imitated}
    assert {"ssh", "remote-shell", "crontab", "compose", "utf16-redirect", "tokens-requoted"} <= imitated
    assert not imitated & {
        "raw",
        "nested-shell",
        "dash",
        "make-recipe",
        "tmux",
        "typed",
        "xargs",
        "jinja",
        "json-string",
        "xml-element",
    }


def test_presets_of_reported_faults_name_their_source() -> None:
    """Each source is a public address, and so many paths have one that every kind of incident is covered."""
    sources = [spec.source for spec in map(preset, preset_names()) if spec.source]
    assert len(sources) >= 50
    assert all(source.startswith("https://") for source in sources)


@pytest.mark.parametrize("name", preset_names())
def test_every_shipped_path_is_described(name: str) -> None:
    """Each preset describes its whole chain as YAML, with what each layer does as a sentence, and in one line what it is."""
    path = assemble(preset(name))
    described = yaml.safe_load(path.describe())
    assert 0 < len(path.spec.summary) <= 120
    assert (described["name"], described["digest"]) == (name, path.digest)
    assert all(layer["does"].endswith(".") for layer in described["layers"])


def test_an_unknown_path_names_the_near_ones() -> None:
    """The error tells what is near and what there is."""
    with pytest.raises(ConfigError, match=r"unknown path 'nested-shel' \(did you mean nested-shell.*are known"):
        preset("nested-shel")


def test_a_decoder_may_be_fixed_in_the_name() -> None:
    """json:NAME fits only contracts of that shape; without a prefix the contract's shape decides."""
    fixed = preset("json:nested-shell")
    assert "asks for text" in (assemble(fixed).fits or "")
    assert assemble(fixed, JSON_CONTRACT).fits is None
    assert assemble(preset("nested-shell"), JSON_CONTRACT).digest == assemble(fixed, JSON_CONTRACT).digest
    with pytest.raises(ValueError, match="asks for text"):
        assemble(fixed).deliver(Reply(text="x"))


def test_own_paths_are_found_beside_the_shipped_ones() -> None:
    """A user's chain takes a decoder prefix like a preset; a harness reads whole replies and takes none."""
    paths = {"mine": parse_path("mine", ["shell"], "s"), "harness": parse_path("harness", HARNESS, "s")}
    assert find_path("tools:mine", paths).accepts == "tools"
    with pytest.raises(ConfigError, match="reads the whole reply itself"):
        find_path("json:harness", paths)


def test_digests_cover_what_changes_a_delivery_and_nothing_else() -> None:
    """Name and summary don't count; clean-up, decoder, layers and options do."""
    nested = assemble(preset("nested-shell"))
    same = own({"layers": ["double-quoted-shell", "shell"], "summary": "as it is at work"})
    escaped = own([{"layer": "double-quoted-shell", "escape": True}, "shell"])
    assert same.digest == nested.digest == own([{"layer": "double-quoted-shell", "escape": False}, "shell"]).digest
    assert escaped.digest == assemble(preset("nested-shell-escaped")).digest
    others = [
        escaped,
        assemble(preset("raw")),
        assemble(preset("nested-shell"), None, "strip"),
        own({"layers": ["double-quoted-shell", "shell"], "version": 2}),
    ]
    assert len({nested.digest, assemble(preset("nested-shell"), JSON_CONTRACT).digest, *(other.digest for other in others)}) == 6


@pytest.mark.parametrize(
    ("layers", "survivable"),
    [
        (["double-quoted-shell", "script-file"], True),
        (["single-quoted-shell", {"layer": "double-quoted-shell", "escape": True}, "shell"], True),
        (["double-quoted-shell", "double-quoted-shell", "shell"], False),
        (["trim", "jinja", "first-line", "double-quoted-shell", "shell"], True),
        (["json-string", "dedent", "shell"], True),
        (["dedent", "json-string", "shell"], True),
        (["double-quoted-shell", "trim", "shell"], True),
        (["double-quoted-shell", "jinja", {"layer": "shell", "program": "dash"}], True),
        (["double-quoted-shell", {"layer": "suffix", "text": "; echo done"}, "shell"], False),
        (["trim", {"layer": "suffix", "text": "; echo done $?"}, "double-quoted-shell", "shell"], True),
        ([{"layer": "suffix", "text": '; echo "done"'}, "double-quoted-shell", "shell"], False),
        ([{"layer": "suffix", "text": "; echo 'done'"}, "double-quoted-shell", "shell"], True),
        ([{"layer": "suffix", "text": "; echo 'done'"}, "single-quoted-shell", "shell"], False),
        ([{"layer": "suffix", "text": "; }"}, {"layer": "prefix", "text": "{ "}, "single-quoted-shell", "jinja", "shell"], True),
        ([{"layer": "line-guard", "text": "test $? = 0 || exit"}, "double-quoted-shell", "script-file"], True),
        ([{"layer": "suffix", "text": "; a"}, "double-quoted-shell", "single-quoted-shell", "shell"], False),
        ([{"layer": "suffix", "text": "; echo done"}, "shell"], True),
        ([{"layer": "suffix", "text": " | cat"}, "shell"], False),
        ([{"layer": "suffix", "text": " &"}, "shell"], False),
        ([{"layer": "suffix", "text": " 2>&1"}, "shell"], True),
        ([{"layer": "suffix", "text": " > /dev/null 2>&1; echo $?"}, "shell"], True),
        ([{"layer": "suffix", "text": " > log 2>&1"}, "shell"], False),
        ([{"layer": "suffix", "text": " 2>&1 | tee log"}, "shell"], False),
        ([{"layer": "suffix", "text": "; }"}, {"layer": "prefix", "text": "{ "}, "shell"], True),
        ([{"layer": "prefix", "text": "timeout 5 "}, "shell"], False),
        ([{"layer": "prefix", "text": "{ "}, "shell"], False),
        ([{"layer": "suffix", "text": "; }"}, "shell"], False),
        ([{"layer": "suffix", "text": "; echo 'left open"}, "shell"], False),
        ([{"layer": "suffix", "text": "; fi"}, "shell"], False),
        ([{"layer": "prefix", "text": "cd /srv && "}, "shell"], True),
        ([{"layer": "prefix", "text": "set -e", "line": "own"}, "shell"], True),
        ([{"layer": "prefix", "text": "set -n", "line": "own"}, "shell"], False),
        ([{"layer": "prefix", "text": "exit 0; "}, "shell"], False),
        ([{"layer": "prefix", "text": "false && "}, "shell"], False),
        ([{"layer": "prefix", "text": "PATH=/nowhere; "}, "shell"], False),
        ([{"layer": "prefix", "text": "export PATH=/nowhere; "}, "shell"], False),
        (
            [
                {"layer": "prefix", "text": "cat <<'EOF'", "line": "own"},
                {"layer": "suffix", "text": "EOF", "line": "own"},
                "shell",
            ],
            False,
        ),
        ([{"layer": "suffix", "text": "; } > out.log"}, {"layer": "prefix", "text": "{ "}, "shell"], False),
        ([{"layer": "suffix", "text": "; } 2>&1"}, {"layer": "prefix", "text": "{ "}, "shell"], True),
        ([{"layer": "suffix", "text": "; pwd > /tmp/cwd"}, "shell"], True),
        ([{"layer": "shell", "flags": ["-n"]}], False),
        ([{"layer": "script-file", "flags": ["-r"]}], False),
        ([{"layer": "shell", "flags": ["-eu", "-o", "pipefail"]}], True),
        ([{"layer": "replace", "find": "DINE", "with": "x"}, "shell"], False),
        ([{"layer": "placeholders", "start": "DINE"}, "shell"], False),
        ([{"layer": "replace-pattern", "find": "([0-9]+)+!"}, "shell"], False),
        ([{"layer": "replace", "find": "(", "with": "["}, "shell"], True),
        ([{"layer": "replace", "find": "a", "with": "b"}, "shell"], False),
        (["compose", "json-string", "make-recipe"], False),
        (["line-ends", "standard-input"], True),
        (["line-ends", "make-recipe"], False),
        (["xml-element", {"layer": "eval", "quotes": "double"}, "syntax-gate"], True),
        ([{"layer": "double-quoted-shell", "escape": True}, "single-quoted-shell", "shell"], False),
    ],
)
def test_only_the_first_careless_layer_can_be_survived(layers: list[Any], survivable: bool) -> None:
    """A careless layer around text that another layer added leaves nothing that a reply could do about it."""
    path = own(layers)
    assert path.survivable is survivable
    if not survivable:
        with pytest.raises(ValueError, match="no encoding"):
            path.encode("x")
        with pytest.raises(ValueError, match="no encoding"):
            path.deliver(Reply(text="x"), encoded=True)


def test_a_harness_gets_the_whole_reply() -> None:
    """The user's program finds the reply as ASCII JSON on standard input and in a file, NUL and surrogates included."""
    path = own(HARNESS)
    reply = Reply(text="a\0\ud800", tool_calls=(ToolCall(id="1", name="f", arguments='{"broken'),), finish_reason="stop")
    (action,) = path.deliver(reply).actions
    command = action.command
    assert json.loads(command.stdin) == {"text": "a\0\ud800", "tool_calls": [{"id": "1", "name": "f", "arguments": '{"broken'}]}
    assert (command.files[0].path, command.files[0].content) == (b"reply.json", command.stdin)
    assert dict(command.env) == {
        "MODE": "fast", "REPLY_FILE": "{in}/reply.json", "RESULT_FILE": "{out}/result.json", "WORK": "{work}",
    }  # fmt: skip
    assert (command.argv, command.binds, command.report) == ((b"python3", b"run.py"), ("/opt/h",), "result.json")
    assert not path.survivable
    assert path.fits is None


def test_a_harness_sees_empty_and_cut_replies_too() -> None:
    """The real harness decides what to do with them; the problem is recorded beside the action."""
    delivery = own(HARNESS).deliver(Reply(text="", finish_reason="length"))
    assert (delivery.problem, len(delivery.actions)) == ("truncated", 1)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"layer": ["shell"]}, "unknown field 'layer'.*layers"),
        ({}, "either layers or external"),
        ({"layers": ["shell"], "external": {"argv": ["x"]}}, "either layers or external"),
        (7, "7 is not a mapping"),
        ([], "last layer must execute"),
        (["shell", "shell"], "only the last layer"),
        (["double-quoted-shell"], "last layer must execute"),
        (["dubble-quoted-shell", "shell"], "did you mean double-quoted-shell"),
        ([{"layer": "double-quoted-shell", "escaped": True}, "shell"], "unknown option 'escaped' .did you mean escape"),
        ([{"layer": "double-quoted-shell", "escape": "yes"}, "shell"], "escape: 'yes' is not true or false"),
        ([{"layer": "double-quoted-shell", "shell": "fish"}, "shell"], r"shell: 'fish' is none of 'bash', 'sh', 'dash'"),
        ([{"layer": "replace", "with": "x"}, "shell"], r"layers\.0\.replace: replace needs the option 'find'"),
        ([{"layer": "suffix", "text": 3}, "shell"], "text: 3 is not a text"),
        ([{"layer": "max-length", "characters": -1}, "shell"], "characters: -1 is negative"),
        ([{"layer": "open-input", "timeout_s": 0}], "not a number of seconds between 0 and 600"),
        ([{"layer": "shell", "flags": "-e"}], "flags: '-e' is not a list of texts"),
        ([{"layer": "charset", "read_as": "utf-7"}, "shell"], "read_as: 'utf-7' is none of"),
        ([{"layer": "replace-pattern", "find": "("}, "shell"], "'\\(' is no regular expression"),
        ([{"layer": "replace-pattern", "find": "a{1,99999999999}"}, "shell"], "is no regular expression"),
        ([{"layer": "replace-pattern", "find": "(" * 3000}, "shell"], "is no regular expression"),
        ([{"layer": "replace", "find": ""}, "shell"], r"layers\.0\.replace\.find: '' is empty"),
        (
            ["trim", {"layer": "heredoc-script", "delimiter": "A B"}, "shell"],
            r"layers\.1\.heredoc-script\.delimiter: 'A B' is no",
        ),
        ([{"layer": "split-at", "separator": ""}], "separator: '' is empty"),
        ([{"layer": "syntax-gate", "status": 300}], "status: 300 is more than 255"),
        ([{"layer": "typed", "locale": "x\ny"}], "is no name of a locale"),
        ([{"layer": "jinja", "file_suffixes": [""]}, "shell"], "is not a list of texts"),
        ([{"layer": "json-string", "times": 9}, "shell"], "times: 9 is none of"),
        ([{"name": "shell"}], r"layers\.0: .*layer: NAME"),
        ([1], r"layers\.0: 1 is not a mapping"),
        ({"layers": "shell"}, "layers: 'shell' is not a list"),
        ({"layers": ["shell"], "version": 1.5}, "version: 1.5 is not a text"),
        ({"external": {}}, "argv"),
        ({"external": {"argv": []}}, "argv: name the program"),
        ({"external": {"argv": "python3 x"}}, "argv: .*not a list"),
        ({"external": {"argv": ["x"], "binds": []}}, "did you mean bind"),
        ({"external": {"argv": ["x"], "env": {"WORK": "/"}}}, "env: WORK is set by Crosspath"),
        ({"external": {"argv": ["x"], "env": {"A": 1}}}, r"env\.A: 1 is not a text"),
        ({"external": {"argv": ["x\0"]}}, r"argv\.0"),
    ],
)
def test_bad_configuration_is_one_clear_line(config: Any, message: str) -> None:
    """Each mistake is a ConfigError that names the file, the field and what would be right."""
    with pytest.raises(ConfigError, match=message) as caught:
        parse_path("mine", config, "spec.yaml")
    assert str(caught.value).startswith("spec.yaml: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["raw", "json:x", "", "a b", "ä"])
def test_names_that_can_not_be_used(name: str) -> None:
    """A user's path may not shadow a shipped one, nor hold what a name of a decoder or a run could not."""
    with pytest.raises(ConfigError):
        parse_path(name, ["shell"], "spec.yaml")


HOSTILE = ("'\"\\`$", "```\n", "<<A\n", "~~~~ x\n", "<<-A\n\t", " \n", "\\", "`", FENCE_LIKE)


def hostile_text(unit: str) -> str:
    """200 kB of it."""
    return unit * (200_000 // len(unit))


@pytest.mark.parametrize("name", [name for name in preset_names() if preset(name).accepts == "text"])
@pytest.mark.parametrize("unit", HOSTILE)
def test_cost_is_linear(name: str, unit: str) -> None:
    """Hostile text of 200 kB is encoded and embedded in a blink, as it is; anything quadratic would take minutes."""
    path = assemble(preset(name), None, "none")
    text = hostile_text(unit)
    started = time.process_time()
    path.deliver(Reply(text=text))
    delivery = path.deliver(Reply(text=text[:60_000]), encoded=path.survivable)
    assert time.process_time() - started < 5
    assert all(len(hop.text) <= 4 * len(text) + 1000 for action in delivery.actions for hop in action.hops)


@pytest.mark.parametrize("cleanup", get_args(Cleanup))
@pytest.mark.parametrize("unit", HOSTILE)
def test_cleaning_is_linear(cleanup: Cleanup, unit: str) -> None:
    """Hostile text is cleaned in a blink, too, whatever the path: all clean up before their first layer."""
    path = assemble(preset("raw"), None, cleanup)
    started = time.process_time()
    path.deliver(Reply(text=hostile_text(unit)))
    assert time.process_time() - started < 5


def test_a_harness_is_known_by_its_code_not_by_its_place() -> None:
    """The same code in two directories has one digest; other code, or another argument, has another."""

    def harness(place: str, code: str = "c1", word: str = "run.py") -> str:
        external = External(argv=("python3", f"{place}/{word}", "--fast"), bind=(place,), code_digest=code)
        return assemble(PathSpec(name="own", external=external, accepts="any")).digest

    assert harness("/home/a/agent") == harness("/srv/agent")
    assert harness("/srv/agent") != harness("/srv/agent", code="c2")
    assert harness("/srv/agent") != harness("/srv/agent", word="other.py")
