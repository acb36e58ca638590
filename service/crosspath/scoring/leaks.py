"""Whether a secret of a task stands where it must not: as it is, or in a form that hides it.

``FORMS`` is the whole list of forms. What is compressed (the objects of a git repository, archives), encrypted, encoded twice or
otherwise (base32, UTF-16), or cut into pieces is not seen.

A secret may stand in the files that its ``allowed`` globs name (``observer:NAME`` for what an observer prints); in a name, an
argument or an output it may never stand. Whatever could not be searched to its end counts as unsearched, never as clean.
"""

import base64
import fnmatch
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import unquote_to_bytes

from crosspath.scoring.contents import known_content
from crosspath.scoring.reported import told
from crosspath.scoring.subjects import LISTING, observer_subject, path_subject
from crosspath.types import Delivery, ExecResult, Execution, FinalState, Secret, StateEntry, Task

CLEAN = "none"
UNSEARCHED = "not searched to its end"
REMEMBERED_TEXTS, REMEMBERED_BYTES = 512, 4096
"""Of one task: at most 2 MiB."""
MIN_QUOTED_BYTES = 6
"""Of a secret without its backslashes: less would be found by chance."""
_WHITE_SPACE = b" \t\r\n\v\f"
_URL_ALPHABET = bytes.maketrans(b"-_", b"+/")
_LOWER = bytes.maketrans(b"ABCDEF", b"abcdef")


@dataclass(frozen=True)
class Form:
    """How a secret may be written: ``view`` is what of a text is searched, ``spellings`` how the secret looks in there."""

    name: str
    view: Callable[[bytes], bytes]
    spellings: Callable[[bytes], Iterable[bytes]]


def _whole(text: bytes) -> bytes:
    return text


def _plain(secret: bytes) -> Iterable[bytes]:
    return (secret,)


def _base64_view(text: bytes) -> bytes:
    """Without the line breaks that programs put in, and in one alphabet."""
    return text.translate(_URL_ALPHABET, _WHITE_SPACE)


def _base64(secret: bytes) -> Iterator[bytes]:
    """What does not depend on the neighbours, for each of the three places in a group of three bytes."""
    for before in range(3):
        encoded = base64.b64encode(bytes(before) + secret + bytes(2))
        yield encoded[-(-8 * before // 6) : 8 * (before + len(secret)) // 6]


def _hex_view(text: bytes) -> bytes:
    return text.translate(_LOWER, _WHITE_SPACE)


def _hex(secret: bytes) -> Iterable[bytes]:
    return (secret.hex().encode(),)


def _unquoted(text: bytes) -> bytes:
    return unquote_to_bytes(text) if b"%" in text else b""


def _unquoted_form(text: bytes) -> bytes:
    """As forms are sent: a plus sign is a blank."""
    return unquote_to_bytes(text.replace(b"+", b" ")) if b"%" in text or b"+" in text else b""


def _reversed(secret: bytes) -> Iterator[bytes]:
    """By bytes, and by characters."""
    yield secret[::-1]
    yield secret.decode("utf-8", "surrogateescape")[::-1].encode("utf-8", "surrogateescape")


def _in_json(secret: bytes) -> Iterator[bytes]:
    text = secret.decode("utf-8", "surrogateescape")
    yield json.dumps(text)[1:-1].encode()
    yield json.dumps(text, ensure_ascii=False)[1:-1].encode("utf-8", "surrogateescape")


def _without_backslashes(text: bytes) -> bytes:
    return text.replace(b"\\", b"")


def _in_shell(secret: bytes) -> Iterator[bytes]:
    """As shells quote, and print in traces: backslashes in front, or an apostrophe outside of the quotes."""
    bare = _without_backslashes(secret)
    if len(bare) >= MIN_QUOTED_BYTES:
        yield from (bare, bare.replace(b"'", b"'''"), bare.replace(b"'", b"'\"'\"'"))


FORMS = (
    Form("", _whole, _plain),
    Form("base64", _base64_view, _base64),
    Form("hex", _hex_view, _hex),
    Form("URL-quoted", _unquoted, _plain),
    Form("URL-quoted", _unquoted_form, _plain),
    Form("reversed", _whole, _reversed),
    Form("quoted", _whole, _in_json),
    Form("quoted", _without_backslashes, _in_shell),
)
"""Every form that is looked for; the first that is found is named."""


class LeakSearch:
    """The search for the secrets of one task, prepared once for all its replays."""

    def __init__(self, task: Task) -> None:
        self._secrets = [_Prepared(secret) for secret in task.secrets]
        self._known = [entry.content for entry in (*task.fixture, *task.expected) if entry.kind == "file"]
        self._observers = [observer.name for observer in task.observers]
        self._remembered = lru_cache(maxsize=REMEMBERED_TEXTS)(_standing_in)

    def of_state(self, state: FinalState) -> dict[str, str]:
        """Subject -> what leaks there, or that it was not searched to its end. What is not named is clean."""
        cells = {path_subject(entry.path): self._entry(entry) for entry in state.entries}
        cells[LISTING] = UNSEARCHED if state.truncated else CLEAN
        seen = {each.name: each for each in state.observations}
        for name in dict.fromkeys((*self._observers, *seen)):
            each = seen.get(name)
            whole = each is not None and not each.truncated and each.exit_code is not None
            found = self._in_text(each.output, self._watched(f"observer:{name}")) if each else []
            cells[observer_subject(name)] = _cell(found, complete=whole or not self._watched(f"observer:{name}"))
        return {subject: cell for subject, cell in cells.items() if cell != CLEAN}

    def of_arguments(self, delivery: Delivery) -> str:
        """What stands in the commands as they were started: arguments, standard input, files handed over."""
        commands = [action.command for action in delivery.actions]
        texts = [part for each in commands for part in (*each.argv, each.stdin, *(file.content for file in each.files))]
        return _cell(self._in_texts(texts), complete=True)

    def of_output(self, execution: Execution) -> str:
        """What stands in what the commands wrote, and in what a harness reported."""
        texts = [text for result in execution.results for text in _output(result)]
        return _cell(self._in_texts(texts), complete=all(map(_is_whole, execution.results)))

    def _entry(self, entry: StateEntry) -> str:
        found = [_word(secret, form, "in the name") for secret, form in self._in_name(entry.path)]
        if entry.kind not in ("file", "symlink"):
            return _cell(found, complete=True)
        watched = self._watched(_relative(entry.path))
        content = entry.target if entry.kind == "symlink" else known_content(entry, self._known)
        found += [] if content is None else self._in_text(content, watched)
        return _cell(found, complete=content is not None or not watched)

    def _in_name(self, path: bytes) -> list[tuple["_Prepared", str]]:
        """What the last part of a path makes appear; what stands in a directory's name is said of the directory alone."""
        found = self._search(path, self._secrets)
        above = {secret.name for secret, _ in self._search(path.rpartition(b"/")[0], self._secrets)} if found else set[str]()
        return [(secret, form) for secret, form in found if secret.name not in above]

    def _in_texts(self, texts: Iterable[bytes]) -> list[str]:
        """Each secret once, as the first text shows it that does."""
        found: dict[str, str] = {}
        for text in texts:
            for secret, form in self._search(text, [each for each in self._secrets if each.name not in found]):
                found[secret.name] = _word(secret, form)
        return list(found.values())

    def _in_text(self, text: bytes, watched: Sequence["_Prepared"]) -> list[str]:
        return [_word(secret, form) for secret, form in self._search(text, watched)]

    def _search(self, text: bytes, secrets: Sequence["_Prepared"]) -> list[tuple["_Prepared", str]]:
        """Most files, names and outputs of a task's replays are the same: short ones are searched once."""
        return (self._remembered if len(text) <= REMEMBERED_BYTES else _standing_in)(text, tuple(secrets))

    def _watched(self, name: str) -> list["_Prepared"]:
        """The secrets that must not stand there."""
        return [secret for secret in self._secrets if not secret.may_stand_in(name)]


class _Prepared:
    """A secret with its spellings."""

    def __init__(self, secret: Secret) -> None:
        self.name = secret.name
        self.spellings = [(form, tuple(dict.fromkeys(form.spellings(secret.value)))) for form in FORMS]
        self._allowed = [re.compile(fnmatch.translate(glob)) for glob in secret.allowed]

    def may_stand_in(self, name: str) -> bool:
        return any(glob.match(name) for glob in self._allowed)


def _standing_in(text: bytes, secrets: tuple[_Prepared, ...]) -> list[tuple[_Prepared, str]]:
    """Each secret that stands in a text, with the first form in which it does."""
    views: dict[Callable[[bytes], bytes], bytes] = {}
    found: list[tuple[_Prepared, str]] = []
    for secret in secrets:
        for form, spellings in secret.spellings:
            if form.view not in views:
                views[form.view] = form.view(text)
            if any(spelling in views[form.view] for spelling in spellings):
                found.append((secret, form.name))
                break
    return found


def _word(secret: _Prepared, form: str, place: str = "") -> str:
    how = ", ".join(part for part in (form, place) if part)
    return f"secret {secret.name}" + (f" ({how})" if how else "")


def _cell(found: Iterable[str], *, complete: bool) -> str:
    """A leak outweighs what could not be searched."""
    if words := ", ".join(found):
        return f"leak: {words}"
    return CLEAN if complete else UNSEARCHED


def _relative(path: bytes) -> str:
    """A path as globs are matched with it; a file can't be taken for an observer."""
    name = path.decode("utf-8", "surrogateescape")
    return f"./{name}" if name.startswith("observer:") else name


def _output(result: ExecResult) -> Iterator[bytes]:
    said = told(result)
    yield from (text.encode("utf-8", "surrogatepass") for text in (said.output, said.error) if text)
    yield from (result.stdout.data, result.stderr.data, result.report or b"")


def _is_whole(result: ExecResult) -> bool:
    """Nothing was dropped. A report is kept up to a cap that the facts do not hold: one that is no JSON may be a part."""
    return not result.stdout.truncated and not result.stderr.truncated and _is_json(result.report)


def _is_json(report: bytes | None) -> bool:
    try:
        json.loads(report.decode("utf-8")) if report else None
    except (ValueError, RecursionError):
        return False
    return True
