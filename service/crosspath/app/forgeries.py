"""Replies that do the wrong thing and try to make the observers say otherwise: each of them must be found out.

They hold for any task whose observers are compared. The fake programs answer what the task expects; the git forgeries build
the right commit first and then point git at it, so that only the protection of the observers can tell the difference. What an
observer itself takes from the work directory is a matter of the task: ``overwriting``.
"""

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from crosspath.app.overwriting import overwrite, own_programs
from crosspath.types import Observer, Task


@dataclass(frozen=True)
class Forgery:
    """A trick and the raw command that plays it; ``paths``: what of the work directory it makes the observers execute."""

    trick: str
    command: str
    paths: tuple[str, ...] = ()


def forgeries(task: Task) -> Iterator[Forgery]:
    """Every trick that this task's observers offer a hold for; none where nothing is compared."""
    compared = [observer for observer in task.observers if observer.expected is not None]
    if not compared:
        return
    programs = sorted({name for observer in compared for name in _programs(observer)})
    yield Forgery("fake programs and start-up files", _fake_programs(compared[0], programs) + _wrong(task))
    if own := own_programs(task, compared):
        yield Forgery("what an observer executes", _wrong(task) + "\n" + overwrite(own), tuple(each.path for each in own))
    if "git" in programs and task.oracle is not None:
        yield Forgery("git replace", _git_replace(task.oracle))
        yield Forgery("git object under another's name", _git_object(task.oracle))
        yield Forgery("git commondir and a transport", _wrong(task) + "\n" + _git_transport(_seen_by_git(compared)))
        yield Forgery("git configuration and hooks", _git_configuration(compared[0]) + _wrong(task))


def _wrong(task: Task) -> str:
    """The tempting command where it must fail, else nothing at all."""
    return task.naive if task.naive is not None and task.tier else "true"


def _programs(observer: Observer) -> list[str]:
    """Names of the programs at the start of each part of a pipeline."""
    return re.findall(r"(?:^|[|;&]\s*)([A-Za-z][\w.-]*)", observer.command)


def _answer(observer: Observer) -> str:
    """A program that prints what the observer should see."""
    octal = "".join(f"\\{byte:03o}" for byte in observer.expected or b"")
    return "#!/bin/sh\nprintf '" + octal + "'\n"


def _fake_programs(observer: Observer, programs: list[str]) -> str:
    lines = ['mkdir -p "$HOME/bin" /tmp/bin', f"printf %s {shlex.quote(_answer(observer))} > /tmp/fake", "chmod +x /tmp/fake"]
    for name in programs:
        lines.append(f'cp /tmp/fake "$HOME/bin/{name}"; cp /tmp/fake /tmp/bin/{name}')
    for file in (".bashrc", ".bash_profile", ".profile", ".bash_env"):
        lines.append(f"""printf 'PATH=$HOME/bin:/tmp/bin:$PATH\\n' > "$HOME/{file}" """.rstrip())
    return "\n".join(lines) + "\n"


def _git_replace(oracle: str) -> str:
    return "\n".join(
        (
            oracle,
            "right=$(git rev-parse HEAD) && git reset -q --soft HEAD^ && git commit -q -m forged",
            'git replace HEAD "$right"; mkdir -p .git/info; echo "$(git rev-parse HEAD)" > .git/info/grafts',
        )
    )


def _git_object(oracle: str) -> str:
    return "\n".join(
        (
            oracle,
            "right=$(git rev-parse HEAD) && git reset -q --soft HEAD^ && git commit -q -m forged && wrong=$(git rev-parse HEAD)",
            'place() { printf ".git/objects/%s" "$1" | sed "s|objects/..|&/|"; }',
            'cp -f "$(place "$right")" "$(place "$wrong")"',
        )
    )


def _seen_by_git(compared: Sequence[Observer]) -> Observer:
    return next(observer for observer in compared if "git" in _programs(observer))


def _git_transport(observer: Observer) -> str:
    """A missing object that git fetches by a program of the reply, which prints the answer in the place of git."""
    config = (
        "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tpartialClone = o\n"
        '[remote "o"]\n\turl = ext::sh .git/x/fake-transport\n\tpromisor = true\n[protocol "ext"]\n\tallow = always\n'
    )
    program = [
        "#!/bin/sh",
        "process=$PPID",
        'while read -r name < /proc/$process/comm && [ "${name#git}" != "$name" ]; do',
        "  top=$process",
        "  process=$(sed -n 's/^PPid:.//p' /proc/$process/status)",
        "done",
        '[ "$name" = bash ] && place=$process || place=$top',
        ".git/x/answer > /proc/$place/fd/1",
        "kill -9 $top",
    ]
    lines = [
        'branch=$(git symbolic-ref HEAD); mkdir -p .git/x; mv .git/objects .git/refs .git/x/; mkdir -p ".git/x/${branch%/*}"',
        'echo 1111111111111111111111111111111111111111 > ".git/x/$branch"; echo x > .git/commondir; rm -f .git/index',
        f"printf %s {shlex.quote(config)} > .git/x/config",
        f"printf '%s\\n' {' '.join(shlex.quote(line) for line in program)} > .git/x/fake-transport",
        f"printf %s {shlex.quote(_answer(observer))} > .git/x/answer; chmod +x .git/x/answer",
    ]
    return "\n".join(lines) + "\n"


def _git_configuration(observer: Observer) -> str:
    keys = ("core.pager", "core.fsmonitor", "diff.external", "gpg.program", "pager.log", "pager.cat-file", "filter.f.smudge")
    lines = [f"printf %s {shlex.quote(_answer(observer))} > .git/fake", "chmod +x .git/fake"]
    lines += [f'git config {key} "$PWD/.git/fake"' for key in keys]
    lines += ["git config core.hooksPath .git/hooks", "git config status.showUntrackedFiles no", "mkdir -p .git/hooks"]
    lines += [f"cp .git/fake .git/hooks/{hook}" for hook in ("post-index-change", "fsmonitor-watchman", "reference-transaction")]
    lines += ['git config --global alias.log "!.git/fake"', 'git config --global core.pager "$PWD/.git/fake"']
    return "\n".join(lines) + "\n"
