"""The identity of a user's harness, and of our own code."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from crosspath.app import harness_tree
from crosspath.app.harness_code import identify
from crosspath.app.packages import git_state, versions
from crosspath.errors import ConfigError
from crosspath.transports import parse_path, preset
from crosspath.types import External, PathSpec


def harness(base: Path, *argv: str, bind: tuple[str, ...] = ("agent",)) -> PathSpec:
    config = {"external": {"argv": list(argv) or ["python3", "agent/run.py"], "bind": list(bind)}}
    return identify(parse_path("mine", config, "transports.mine"), base)


def external(spec: PathSpec) -> External:
    assert spec.external is not None
    return spec.external


@pytest.fixture
def base(tmp_path: Path) -> Path:
    (tmp_path / "agent").mkdir()
    (tmp_path / "agent" / "run.py").write_text("print(1)\n")
    return tmp_path


def test_names_become_absolute(base: Path) -> None:
    """Relative binds start from the spec, and words that name bound files are found from any work directory."""
    found = external(harness(base, "python3", "agent/run.py", "--fast", "agent/none.py"))
    assert found.bind == (str(base / "agent"),)
    assert found.argv == ("python3", str(base / "agent" / "run.py"), "--fast", "agent/none.py")


def test_digest_follows_the_content(base: Path) -> None:
    """A changed, renamed or further file is another harness; caches are none of it."""
    seen = [external(harness(base)).code_digest]
    (base / "agent" / "__pycache__").mkdir()
    (base / "agent" / "__pycache__" / "x.pyc").write_bytes(b"1")
    assert external(harness(base)).code_digest == seen[0]
    for change in (
        lambda: (base / "agent" / "run.py").write_text("print(2)\n"),
        lambda: (base / "agent" / "more.py").write_text(""),
        lambda: (base / "agent" / "more.py").rename(base / "agent" / "other.py"),
    ):
        change()
        seen.append(external(harness(base)).code_digest)
    assert len(set(seen)) == 4


def test_one_file_can_be_bound(base: Path) -> None:
    """A harness may be a single file."""
    assert external(harness(base, bind=("agent/run.py",))).code_digest


def test_missing_bind_is_refused(base: Path) -> None:
    """A bind that does not exist is a mistake in the spec, with its place."""
    with pytest.raises(ConfigError, match=r"transports\.mine\.external\.bind: 'agnt' does not exist"):
        harness(base, bind=("agnt",))


def test_unreadable_binds_are_refused(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Links to themselves, impossible names, pipes and far too many files end in one line, and at once."""
    (base / "loop").symlink_to("loop")
    (base / "agent" / "dangling").symlink_to("nowhere")
    os.mkfifo(base / "pipe")
    monkeypatch.setattr(harness_tree, "MAX_FILES", 100)
    for name, problem in {
        "loop": "can't be read: it is a symbolic link to itself|can't be read: Too many levels",
        "a" * 5000: "can't be read: File name too long",
        "pipe": "is neither a file nor a directory",
        "/": "'/' holds more than 100 files",
    }.items():
        with pytest.raises(ConfigError, match=rf"transports\.mine\.external\.bind: .*({problem})"):
            harness(base, bind=(name,))
    assert external(harness(base)).code_digest


def test_words_that_are_no_names_stay(base: Path) -> None:
    """An argument may be anything: what can't be a file is passed on as it is."""
    (base / "agent" / "loop").symlink_to("loop")
    words = ("agent/" + "a" * 5000, "agent/loop", "agent/run.py/x", "")
    assert external(harness(base, "python3", *words)).argv == ("python3", *words)


def test_presets_are_left_alone(base: Path) -> None:
    """A path without a harness has no code to identify."""
    assert identify(preset("nested-shell"), base) == preset("nested-shell")


def test_git_tree_says_whether_it_is_dirty(base: Path) -> None:
    """Outside of a checkout nothing is known; inside, an uncommitted change shows."""
    assert git_state(base) == ("", None)
    git = ("git", "-C", str(base), "-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    for command in (("init", "-q"), ("add", "."), ("commit", "-qm", "x")):
        subprocess.run([*git, *command], check=True)
    commit, dirty = git_state(base)
    assert (len(commit), dirty) == (40, False)
    assert external(harness(base)).dirty is False
    (base / "agent" / "run.py").write_text("print(3)\n")
    assert external(harness(base)).dirty is True


def test_versions_are_of_this_installation() -> None:
    """The lock names every package that can change a result."""
    found = versions()
    assert found["crosspath"]
    assert "not installed" not in found.values()


TAKES_REPLY = "def run_reply(reply):\n    return 0\n"


def function(base: Path, target: str = "agent.run:run_reply", **config: Any) -> External:
    return external(identify(parse_path("ours", {"callable": target, **config}, "transports.ours"), base))


@pytest.fixture
def code(base: Path) -> Path:
    (base / "agent" / "__init__.py").write_text("raise SystemExit('imported')\n")
    (base / "agent" / "run.py").write_text(TAKES_REPLY)
    return base


def small_environment(place: Path, version: str = "3.11") -> Path:
    """What the files of a virtual environment look like, on a Python below ``base`` beside it; returns its site-packages."""
    (place / "base" / "lib" / f"python{version}").mkdir(parents=True)
    (place / "base" / "lib" / f"python{version}" / "os.py").write_text("")
    (place / "base" / "bin").mkdir()
    (place / "base" / "bin" / f"python{version}").write_bytes(b"\x7fELF")
    (place / "base" / "bin" / f"python{version}").chmod(0o755)
    site = place / "env" / "lib" / f"python{version}" / "site-packages"
    site.mkdir(parents=True)
    (place / "env" / "bin").mkdir()
    (place / "env" / "bin" / "python").symlink_to(place / "base" / "bin" / f"python{version}")
    (place / "env" / "pyvenv.cfg").write_text(f"home = {place / 'base' / 'bin'}\n")
    return site


def install(site: Path, name: str, files: dict[str, str], requires: str = "", version: str = "1.0") -> None:
    about = site / f"{name}-{version}.dist-info"
    about.mkdir()
    lines = [f"Requires-Dist: {requires}"] if requires else []
    (about / "METADATA").write_text("\n".join(["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}", *lines, ""]))
    for file, text in files.items():
        (site / file).parent.mkdir(exist_ok=True)
        (site / file).write_text(text)
    (about / "RECORD").write_text("".join(f"{file},,\n" for file in files))


def test_a_function_is_found_and_not_imported(code: Path) -> None:
    """Its package is bound and on the import path, its Python is that of Crosspath; nothing of it runs here."""
    found = function(code)
    assert found.argv[1:] == ("-sB", "{packages}/inside/calling.py", "agent.run:run_reply", str(code))
    assert str(code / "agent") in found.bind
    assert str(code) not in found.bind
    assert "agent" not in sys.modules


@pytest.mark.parametrize(
    ("target", "text", "problem"),
    [
        ("agnt.run:run_reply", TAKES_REPLY, r"callable: there is no module 'agnt' in .*; name the Python that has it as python"),
        (
            "agent.runs:run_reply",
            TAKES_REPLY,
            r"callable: package agent \(.*/agent\): unknown module 'runs' \(did you mean run\?\)",
        ),
        ("agent.run.more:run_reply", TAKES_REPLY, r"callable: agent\.run \(.*/run\.py\) is a module and holds no others"),
        ("agent.run:run_repl", TAKES_REPLY, r"callable: .*/run\.py: unknown function 'run_repl' \(did you mean run_reply\?\)"),
        ("agent.run", TAKES_REPLY, r"callable: 'agent\.run' is not module:function, for instance myteam\.agent:run_reply"),
        ("agent/run.py:run_reply", TAKES_REPLY, r"callable: 'agent/run\.py:run_reply' is not module:function"),
        ("agent.run:run_reply", "def run_reply(:\n", r"callable: .*/run\.py, line 1: "),
        (
            "agent.run:run_reply",
            "def run_reply():\n  pass\n",
            r"line 1: run_reply\(\) must take the reply as its first parameter",
        ),
        ("agent.run:run_reply", "def run_reply(a, b):\n  pass\n", r"run_reply\(\) needs 'b', and gets the reply and, .* work"),
        ("agent.run:run_reply", "def run_reply(a, *, c):\n  pass\n", r"run_reply\(\) needs 'c'"),
    ],
)
def test_functions_that_are_not_there(code: Path, target: str, text: str, problem: str) -> None:
    """A module, a function or a parameter that is wrong is one line with its place and what would be right."""
    (code / "agent" / "run.py").write_text(text)
    with pytest.raises(ConfigError, match=rf"^transports\.ours[.:].*{problem}") as raised:
        function(code, target)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    "text",
    [
        "from elsewhere import run_reply\n",
        "from elsewhere import *\n",
        "def __getattr__(name): ...\n",
        "try:\n    import x\nexcept ImportError:\n    run_reply = None\n",
        "class Agent:\n    def __call__(self, reply): ...\nrun_reply = Agent()\n",
        "@decorated\ndef run_reply(a, b, c): ...\n",
        "def run_reply(reply, work, more=1, **rest): ...\n",
        "async def run_reply(*all): ...\n",
    ],
)
def test_what_a_text_can_not_tell_is_left_to_the_sandbox(code: Path, text: str) -> None:
    """Names that are imported, assigned or made at run time count as there."""
    (code / "agent" / "run.py").write_text(text)
    assert function(code).code_digest


@pytest.mark.parametrize(
    ("config", "problem"),
    [
        ({"python": "no-such-python"}, r"python: 'no-such-python' is no program; name the Python of your environment"),
        ({"python": "agent/shim"}, r"python: 'agent/shim' is a script that starts a Python elsewhere; name that one"),
        ({"python": "/bin/ls"}, r"python: '/bin/ls' is no installed Python"),
        ({"bind": ["none"]}, r"bind: 'none' does not exist"),
        ({"env": {"RESULT_FILE": "x"}}, r"env: RESULT_FILE is set by Crosspath"),
        ({"argv": ["x"]}, r"unknown field 'argv'"),
        ({"layers": ["shell"]}, r"give either layers or external or callable"),
    ],
)
def test_wrong_settings_of_a_function(code: Path, config: dict[str, Any], problem: str) -> None:
    """What is wrong beside the function's name is told with its field."""
    (code / "agent" / "shim").write_text("#!/bin/sh\n")
    (code / "agent" / "shim").chmod(0o755)
    with pytest.raises(ConfigError, match=rf"^transports\.ours[.:] ?{problem}"):
        function(code, **config)


def test_code_beside_a_function_belongs_to_it(code: Path) -> None:
    """What it imports from beside it is bound and part of what it is; what it does not import is neither."""
    (code / "agent" / "run.py").write_text("import helping, json, no_such\n" + TAKES_REPLY)
    (code / "helping.py").write_text("import deeper.inner\n")
    (code / "deeper").mkdir()
    (code / "deeper" / "inner.py").write_text("")
    (code / "json").mkdir()
    (code / "notes").mkdir()
    bound = {str(code / name) for name in ("agent", "helping.py", "deeper")}
    first = function(code)
    assert {place for place in first.bind if place.startswith(str(code))} == bound
    (code / "notes" / "x.py").write_text("1")
    assert function(code).code_digest == first.code_digest
    (code / "deeper" / "inner.py").write_text("1")
    assert function(code).code_digest != first.code_digest


def test_an_environment_is_bound_with_its_python(code: Path, tmp_path: Path) -> None:
    """A virtual environment needs its own directory and that of the Python that it was made of; it is started by its own name."""
    site = small_environment(tmp_path / "e")
    found = function(code, python="e/env/bin/python")
    assert found.argv[0] == str(tmp_path / "e" / "env" / "bin" / "python")
    assert {str(tmp_path / "e" / "env"), str(tmp_path / "e" / "base")} < set(found.bind)
    assert site.is_dir()


def test_versions_of_what_is_imported_are_part_of_a_function(code: Path, tmp_path: Path) -> None:
    """Another version of a package that it imports, or of one that this one requires, is another path; of others it is not."""
    (code / "agent" / "run.py").write_text("import first_thing\n" + TAKES_REPLY)
    digests: list[str] = []
    versions = [("1.0", "1.0", "1.0"), ("1.0", "1.0", "2.0"), ("1.0", "2.0", "1.0"), ("2.0", "1.0", "1.0")]
    for number, (first, second, other) in enumerate(versions):
        site = small_environment(tmp_path / str(number))
        install(site, "First.Thing", {"first_thing/__init__.py": ""}, 'second>=1; python_version > "3"', first)
        install(site, "second", {"second.py": ""}, 'other; extra == "all"', second)
        install(site, "other", {"other.py": ""}, version=other)
        digests.append(function(code, python=f"{number}/env/bin/python").code_digest)
    assert digests[0] == digests[1]
    assert len(set(digests)) == 3


def test_another_python_is_another_path(code: Path, tmp_path: Path) -> None:
    """The same code under another version of Python may do something else."""
    for version in ("3.9", "3.14"):
        small_environment(tmp_path / version, version)
    one, other = (function(code, python=f"{version}/env/bin/python") for version in ("3.9", "3.14"))
    assert one.code_digest != other.code_digest


@pytest.mark.parametrize("how", ["pth", "direct_url"])
def test_editable_installs(how: str, code: Path, tmp_path: Path) -> None:
    """A package that is installed editable is found where it lies, and identified by its content."""
    site = small_environment(tmp_path / "e")
    project = tmp_path / "my project"
    (project / "src" / "myteam").mkdir(parents=True)
    (project / "src" / "myteam" / "__init__.py").write_text(TAKES_REPLY)
    install(site, "myteam", {})
    if how == "pth":
        (site / "myteam.pth").write_text(f"import site; site.x()\n# {tmp_path}\n{project / 'src'}\n")
    else:
        text = json.dumps({"url": (project).as_uri(), "dir_info": {"editable": True}})
        (site / "myteam-1.0.dist-info" / "direct_url.json").write_text(text)
    first = function(code, "myteam:run_reply", python="e/env/bin/python")
    assert str(project / "src" / "myteam") in first.bind
    assert first.argv[-1] == str(project / "src")
    (project / "src" / "myteam" / "more.py").write_text("")
    assert function(code, "myteam:run_reply", python="e/env/bin/python").code_digest != first.code_digest


def test_syntax_that_only_the_users_python_knows(code: Path, tmp_path: Path) -> None:
    """Code for a Python that is newer than ours is not judged by ours."""
    (code / "agent" / "run.py").write_text("a new syntax\n")
    small_environment(tmp_path / "new", "3.99")
    assert function(code, python="new/env/bin/python").code_digest
    small_environment(tmp_path / "old", "3.8")
    with pytest.raises(ConfigError, match=r"run\.py, line 1"):
        function(code, python="old/env/bin/python")


def test_a_dirty_function(code: Path) -> None:
    """In a checkout an uncommitted change of its own files shows; those beside it don't."""
    git = ("git", "-C", str(code), "-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    for command in (("init", "-q"), ("add", "."), ("commit", "-qm", "x")):
        subprocess.run([*git, *command], check=True)
    (code / "beside.py").write_text("")
    assert function(code).dirty is False
    (code / "agent" / "run.py").write_text(TAKES_REPLY + "\n")
    assert function(code).dirty is True
