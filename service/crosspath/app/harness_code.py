"""The identity of a user's harness, and what a sandbox must show for it.

A program is what its bound files hold. A function is its own code, wherever it lies: packages beside the spec by content, an
installed distribution by its files, what they import by name and version, and the version of Python.
"""

import base64
import sys
from importlib import metadata
from pathlib import Path

from crosspath.app.harness_function import Code, Finder
from crosspath.app.harness_python import Interpreter, always_visible, find_interpreter
from crosspath.app.harness_tree import any_dirty, content_digest, tree_digest
from crosspath.errors import ConfigError
from crosspath.transports.commands import call_function
from crosspath.types import External, PathSpec, digest


def identify(spec: PathSpec, base: Path) -> PathSpec:
    """``spec`` with absolute binds and the digest of the code that it runs; unchanged where it is no external harness.

    Raises:
        ConfigError: a bound path does not exist, can't be read, or holds more files than can be identified; a function's Python,
            module or name is not there.
    """
    if spec.external is None:
        return spec
    field = f"transports.{spec.name}"
    given = spec.external
    found = _function(given, base, field) if given.function else _program(given, base, f"{field}.external.bind")
    return spec.model_copy(update={"external": found})


def _program(given: External, base: Path, field: str) -> External:
    binds = tuple(str(_bound(path, base, field)) for path in given.bind)
    return External(
        argv=tuple(_absolute(word, base, binds) for word in given.argv),
        bind=binds,
        env=given.env,
        code_digest=digest([tree_digest(Path(path), field) for path in binds]),
        dirty=any_dirty(tuple(map(Path, binds))),
    )


def _function(given: External, base: Path, field: str) -> External:
    python = find_interpreter(given.python or sys.executable, base, f"{field}.python")
    binds = tuple(_bound(path, base, f"{field}.bind") for path in given.bind)
    bound = tuple(dict.fromkeys(root for path in binds for root in _import_root(path)))
    code = Finder(python, (base, *bound), bound, f"{field}.callable").find(given.function)
    changed, identity = _identity(code, python, binds, field)
    shown = (*python.prefixes, *code.own, *binds)
    return given.model_copy(
        update={
            "argv": call_function(str(python.program), given.function, tuple(map(str, code.roots))),
            "bind": tuple(sorted({str(path) for path in shown if not always_visible(path)})),
            "code_digest": identity,
            "dirty": changed,
        }
    )


def _import_root(bind: Path) -> tuple[Path, ...]:
    """The directory on the import path that makes what is bound importable; none for a file of another kind."""
    if bind.is_dir():
        return (bind.parent if (bind / "__init__.py").is_file() else bind,)
    return (bind.parent,) if bind.suffix == ".py" else ()


def _identity(code: Code, python: Interpreter, binds: tuple[Path, ...], field: str) -> tuple[bool | None, str]:
    """Whether it was changed since it was committed or installed, and the digest of all that the function is."""
    own = [[path.name, tree_digest(path, f"{field}.callable")] for path in code.own]
    dirty = any_dirty((*code.own, *binds))
    installed = ""
    if code.installed is not None:
        installed, patched = _installed(python.installed[code.installed])
        dirty = patched or bool(dirty)
    facts = {
        "own": sorted(own),
        "bind": [tree_digest(path, f"{field}.bind") for path in binds],
        "installed": installed,
        "requires": python.required_by(code.requires),
        "python": python.version,
    }
    return dirty, digest(facts)


def _installed(distribution: metadata.Distribution) -> tuple[str, bool]:
    """A digest over the code of an installed distribution, and whether a file is not as it was installed."""
    facts: list[list[str]] = []
    patched = False
    for file in sorted(distribution.files or ()):
        name = file.as_posix()
        if name.startswith("..") or "__pycache__" in name or ".dist-info/" in name:
            continue  # made for this machine
        place = Path(str(file.locate()))
        if not place.is_file():
            patched = True
            continue
        found = content_digest(place)
        facts.append([name, found.hex()])
        recorded = file.hash.value if file.hash is not None and file.hash.mode == "sha256" else None
        patched |= recorded is not None and recorded != base64.urlsafe_b64encode(found).rstrip(b"=").decode()
    return digest(facts), patched


def _bound(given: str, base: Path, field: str) -> Path:
    try:
        return (base / given).resolve(strict=True)
    except FileNotFoundError:
        raise ConfigError(f"{given!r} does not exist ({base / given})", field=field) from None
    except OSError as error:
        raise ConfigError(f"{given!r} can't be read: {error.strerror}", field=field) from None
    except RuntimeError:  # how Python 3.11 and 3.12 tell it
        raise ConfigError(f"{given!r} can't be read: it is a symbolic link to itself", field=field) from None


def _absolute(word: str, base: Path, binds: tuple[str, ...]) -> str:
    """A word that names a file below a bind is made absolute, because the harness starts in the work directory."""
    try:
        candidate = (base / word).resolve(strict=True)
    except (OSError, RuntimeError):
        return word  # whatever it is, it is not the name of a file
    inside = any(candidate == Path(bind) or Path(bind) in candidate.parents for bind in binds)
    return str(candidate) if inside else word
