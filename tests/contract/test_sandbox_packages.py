"""Packages of ours that a command names: there for it, read-only, and for no other command."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from crosspath.adapters.bubblewrap_sandbox import BubblewrapSandbox
from crosspath.adapters.process_sandbox import ProcessSandbox
from crosspath.ports import Sandbox
from crosspath.types import Command, SandboxLimits
from sandbox_jobs import run, shell

LIMITS = SandboxLimits(output_bytes=1000, file_cap_bytes=1000)


@pytest.fixture(scope="module", params=[BubblewrapSandbox, ProcessSandbox])
def real(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    with closing(request.param(LIMITS)) as made:
        yield made


def test_packages(real: Sandbox) -> None:
    """A command imports the packages that it names, and only in the commands that name them they are there."""
    text = 'ls "$LIB"; PYTHONPATH=$LIB python3 -c "import inside, jinja2; print(jinja2.Template(\'{{ 1 + 1 }}\').render())"'
    env = (("LIB", "{packages}"),)
    named = shell(text, env=env, packages=("inside", "jinja2", "markupsafe"))
    one = shell('ls "$LIB"', env=env, packages=("inside",))
    none = shell('ls "$LIB"; ls "${HOME%/*}/lib"; echo "$LIB"', env=env)
    results = run(real, named, one, none).results
    assert [result.stdout.data for result in results] == [
        b"inside\njinja2\nmarkupsafe\n2\n", b"inside\n", b"{packages}\n",
    ], results  # fmt: skip


def test_packages_expand_where_they_are_named(real: Sandbox) -> None:
    """``{packages}`` is the directory where a word begins with it, and itself in all other words and other commands."""
    words = (b"{packages}", b"{packages}/inside", b"{packages}x", b"x{packages}", b"{work}")
    show = (b"printf", b"%s\n", *words)
    named, other = run(real, Command(argv=show, packages=("inside",)), Command(argv=show)).results
    place = named.stdout.data.split(b"\n")[0]
    assert place.startswith(b"/")
    assert named.stdout.data.split() == [place, place + b"/inside", *words[2:]]
    assert other.stdout.data.split() == list(words)


def test_packages_have_byte_code(real: Sandbox) -> None:
    """What a command imports is compiled already, so that a start costs no compilation."""
    text = 'PYTHONPATH=$LIB python3 -c "import jinja2; print(jinja2.__spec__.cached)" | xargs ls -d'
    command = shell(text, env=(("LIB", "{packages}"),), packages=("jinja2", "markupsafe"))
    assert run(real, command).results[0].exit_code == 0


def test_no_command_writes_packages() -> None:
    """In bubblewrap a reply changes no package: not for itself, not for those after it."""
    with closing(BubblewrapSandbox(LIMITS)) as made:
        env = (("LIB", "{packages}"),)
        for tried in ("echo 1 >> $LIB/inside/__init__.py", "touch $LIB/inside/new", "rm -rf $LIB/inside", "mkdir $LIB/other",
                      "mv $LIB/inside $LIB/else", "chmod 777 $LIB/inside"):  # fmt: skip
            result = run(made, shell(tried, env=env, packages=("inside",))).results[0]
            assert result.exit_code != 0, tried
            assert b"Read-only" in result.stderr.data or b"Permission" in result.stderr.data or b"busy" in result.stderr.data


def test_copies_of_packages_go() -> None:
    """Without a sandbox the packages lie in a directory of their own, which goes when the sandbox is closed."""
    made = ProcessSandbox(LIMITS)
    command = shell('readlink -f "$LIB/inside"', env=(("LIB", "{packages}"),), packages=("inside",))
    places = {Path(run(made, command).results[0].stdout.data.decode().strip()) for _ in range(2)}
    (place,) = places
    assert (place / "__init__.py").is_file()
    made.close()
    assert not place.parent.exists()
    assert run(made, command).results[0].exit_code == 0
    made.close()
