"""Where the code of a user's own function lies, and what it imports.

The function runs inside the sandbox. Here its module is looked for as Python would look, in the spec's directory, in what was
bound and in the packages of the user's Python, but nothing is imported: files are listed and parsed.
"""

import ast
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from crosspath.app.harness_python import Interpreter, is_below
from crosspath.app.harness_tree import files_of
from crosspath.errors import ConfigError
from crosspath.transports.naming import unknown


@dataclass(frozen=True)
class Code:
    """All code that was found for a function."""

    roots: tuple[Path, ...]
    """Directories outside of the Python that must be on the import path, in this order."""
    own: tuple[Path, ...]
    """Top-level packages and modules in ``roots``: the function's, and those that they import."""
    installed: str | None
    """Normalised name of the installed distribution that brought the function, where one did."""
    requires: frozenset[str]
    """Normalised names of the installed distributions that the code imports."""


@dataclass(frozen=True)
class Finder:
    """Looks for modules without importing one."""

    interpreter: Interpreter
    roots: tuple[Path, ...]
    """First on the import path: the spec's directory, then what was bound."""
    always: tuple[Path, ...]
    """Those of ``roots`` that the code may import from in ways that can't be seen."""
    field: str
    """Named in errors."""

    def find(self, target: str) -> Code:
        """The code of ``module:function``.

        Raises:
            ConfigError: there is no such module or function, or the function can't be called with a reply.
        """
        module, _, function = target.partition(":")
        require_function(self._file(module), function, self.interpreter.version, self.field)
        return self._code(module.partition(".")[0])

    @property
    def _path(self) -> tuple[Path, ...]:
        return (*self.roots, *self.interpreter.links, *self.interpreter.sites)

    def _file(self, module: str) -> Path:
        """The file of a module."""
        *packages, last = module.split(".")
        places: Sequence[Path] = self._path
        for number, name in enumerate(packages):
            inner = _packages(places, name)
            if not inner:
                raise self._none(".".join(packages[: number + 1]), places, searched=number == 0)
            places = inner
        found = next(filter(None, (_module_file(place, last) for place in places)), None)
        if found is None:
            raise self._none(module, places, searched=not packages)
        return found

    def _none(self, missing: str, places: Sequence[Path], *, searched: bool) -> ConfigError:
        parent, _, name = missing.rpartition(".")
        file = next(filter(None, (_module_file(place, name) for place in places)), None)
        if file is not None:
            problem = f"{missing} ({file}) is a module and holds no others"
        elif searched:
            where = ", ".join(str(place) for place in (*self.roots, *self.interpreter.sites))
            problem = (
                f"there is no module {missing!r} in {where}; name the Python that has it as python, or its directory in bind"
            )
        else:
            problem = f"package {parent} ({places[0]}): {unknown('module', name, _modules(places))}"
        return ConfigError(problem, field=self.field)

    def _code(self, top: str) -> Code:
        own, roots, requires = dict[Path, None](), set(self.always), set[str]()
        installed: str | None = None
        waiting, seen = [top], {top}
        while waiting:
            name = waiting.pop()
            place, root = _top(name, self._path) or (None, None)
            if place is None or root is None:
                continue
            owner = self.interpreter.owners.get(name) if is_below(root, self.interpreter.sites) else None
            if owner is not None:
                requires.add(owner)
                installed = owner if name == top else installed
            elif not is_below(root, self.interpreter.sites) or name == top:
                own[place] = None
                roots.add(root)
                imported = sorted(_imports(place, self.field) - seen)
                waiting += imported
                seen.update(imported)
        used = tuple(place for place in self._path if place in roots and place not in self.interpreter.sites)
        return Code(used, tuple(sorted(own)), installed, frozenset(requires))


def require_function(file: Path, function: str, version: str, field: str) -> None:
    """Whether ``file`` has a function of that name that takes a reply; what can't be told from its text is left to the sandbox.

    Raises:
        ConfigError: it can't be read or parsed, has no such name, or the function needs more than a reply.
    """
    if file.suffix != ".py":
        return
    try:
        tree = _parsed(file)
    except SyntaxError as error:
        if _newer(version):
            return
        raise ConfigError(f"{file}, line {error.lineno}: {error.msg}", field=field) from None
    except (ValueError, OSError) as error:
        raise ConfigError(f"{file} can't be read: {error}", field=field) from None
    bound = dict(_bound_names(tree.body))
    first, _, rest = function.partition(".")
    if first not in bound:
        if not {"*", "__getattr__"} & bound.keys():
            own = [
                name for name, node in bound.items() if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            ]
            raise ConfigError(f"{file}: {unknown('function', first, own)}", field=field)
    elif not rest:
        _require_parameters(bound[first], file, field)


def _parsed(file: Path) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        return ast.parse(file.read_bytes())


def _newer(version: str) -> bool:
    """Whether that Python may know a syntax that ours does not."""
    return tuple(map(int, version.split("."))) > sys.version_info[:2]


def _bound_names(body: Iterable[ast.AST]) -> Iterator[tuple[str, ast.AST]]:
    """Every name that a module binds, with the statement; the branches of ``if``, ``try`` and ``with`` are looked into."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name, node
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from ((alias.asname or alias.name.partition(".")[0], node) for alias in node.names)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from ((name.id, node) for target in targets for name in ast.walk(target) if isinstance(name, ast.Name))
        else:
            for inner in ("body", "orelse", "handlers", "finalbody"):
                yield from _bound_names(getattr(node, inner, []))


def _require_parameters(node: ast.AST, file: Path, field: str) -> None:
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or node.decorator_list:
        return
    given = node.args
    positional = [argument.arg for argument in (*given.posonlyargs, *given.args)]
    needed = positional[: len(positional) - len(given.defaults)]
    needed += [one.arg for one, default in zip(given.kwonlyargs, given.kw_defaults, strict=True) if default is None]
    if not positional and given.vararg is None:
        problem = "must take the reply as its first parameter"
    elif more := [name for name in needed[1:] if name != "work"]:
        problem = f"needs {more[0]!r}, and gets the reply and, where it has a parameter of that name, work"
    else:
        return
    raise ConfigError(f"{file}, line {node.lineno}: {node.name}() {problem}", field=field)


def _packages(places: Iterable[Path], name: str) -> list[Path]:
    """The directory of a package; several for one without ``__init__.py``."""
    found = [place / name for place in places if (place / name).is_dir()]
    regular = [place for place in found if (place / "__init__.py").is_file()]
    return regular[:1] or found


def _module_file(place: Path, name: str) -> Path | None:
    """The file of a module or regular package in the directory ``place``."""
    compiled = sorted(place.glob(f"{name}.*.so"))
    choices = (place / name / "__init__.py", place / f"{name}.py", *compiled, place / f"{name}.so")
    return next((choice for choice in choices if choice.is_file()), None)


def _modules(places: Iterable[Path]) -> set[str]:
    """Names of the modules in the directories of a package."""
    found = {path.stem for place in places for path in place.glob("*.py")}
    return {name for name in found if name != "__init__"}


def _top(name: str, path: Iterable[Path]) -> tuple[Path, Path] | None:
    """The package or file of a top-level name, and the directory on the import path that holds it."""
    portions: list[tuple[Path, Path]] = []
    for root in path:
        if (file := _module_file(root, name)) is not None:
            return (file.parent if file.name == "__init__.py" else file), root
        if (root / name).is_dir():
            portions.append((root / name, root))
    return portions[0] if portions and name not in sys.stdlib_module_names else None


def _imports(place: Path, field: str) -> set[str]:
    """Top-level names that the Python files of a package or module import."""
    files = [place] if place.is_file() else files_of(place, field)
    return {name for file in files if file.suffix == ".py" for name in _imports_of_file(file)}


def _imports_of_file(file: Path) -> Iterator[str]:
    try:
        tree = _parsed(file)
    except (SyntaxError, ValueError, OSError, RecursionError):
        return  # it may be a template, or for another Python
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]
