"""The rules of the house that no single module can show."""

import ast
import importlib.metadata
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from importlinter.cli import lint_imports

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "service" / "crosspath"
MODULES = sorted(SOURCE.rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("test_*.py"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
VENDORS = ("litellm", "ray", "great_expectations", "pandas", "mlflow", "openai", "scipy", "matplotlib", "pyarrow")
IMPORT_NAMES = {
    "great-expectations": {"great_expectations"},
    "markdown-it-py": {"markdown_it"},
    "pyyaml": {"yaml"},
    "pydantic": {"pydantic", "pydantic_core"},
}
FORBIDDEN_NAMES = {"utils", "util", "helpers", "helper", "core", "common", "manager", "misc", "base_classes"}
MAX_LINES = 450
FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)


def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"), str(path))


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def dependencies() -> dict[str, set[str]]:
    """Distribution -> the names under which it is imported."""
    names = [re.split(r"[<>=!~;\[ ]", line)[0].lower() for line in PROJECT["project"]["dependencies"]]
    return {dist: IMPORT_NAMES.get(dist, {dist.replace("-", "_")}) for dist in names}


def imported(paths: list[Path]) -> set[str]:
    """Top-level names of everything that is imported in ``paths``, wherever the import stands."""
    found: set[str] = set()
    for path in paths:
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.Import):
                found |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                found.add(node.module.split(".")[0])
    return found


def test_import_contracts(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The layers hold: a module imports only from lines below it, and each vendor has one place."""
    monkeypatch.chdir(ROOT)
    code = lint_imports(config_filename="pyproject.toml", no_cache=True)
    assert code == 0, capsys.readouterr().out


def test_every_adapter_is_named_in_the_contract() -> None:
    """A new adapter must be put under the contract that keeps adapters blind to each other."""
    contract = next(contract for contract in PROJECT["tool"]["importlinter"]["contracts"] if contract["type"] == "independence")
    listed = {module.rsplit(".", 1)[1] for module in contract["modules"]}
    vendors = {adapter.split("_")[0] for adapter in listed} | {"sandboxing"}
    present = {path.stem for path in (SOURCE / "adapters").iterdir() if path.stem.strip("_") not in ("init", "pycache")}
    assert listed <= present
    assert {adapter.split("_")[0] for adapter in present} <= vendors


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_module_name_and_size(path: Path) -> None:
    """No module is a drawer for everything: neither by its name nor by its size."""
    assert not FORBIDDEN_NAMES & set(path.with_suffix("").relative_to(SOURCE).parts)
    assert len(path.read_text("utf-8").splitlines()) <= MAX_LINES


def test_docstrings() -> None:
    """Every module says at its head what it is for."""
    assert [name(path) for path in MODULES if path.read_text("utf-8").strip() and not ast.get_docstring(tree(path))] == []


def catches_everything(node: ast.AST) -> bool:
    """Whether ``node`` is an ``except`` that swallows any error; one that ends by raising the same again is none."""
    if not isinstance(node, ast.ExceptHandler):
        return False
    kinds = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
    broad = any(kind is None or (isinstance(kind, ast.Name) and kind.id in ("Exception", "BaseException")) for kind in kinds)
    last = node.body[-1]
    return broad and not (isinstance(last, ast.Raise) and last.exc is None)


def test_no_broad_except() -> None:
    """Only ``errors.boundary`` turns foreign exceptions into ours; nothing else swallows what it does not know.

    Programs that run in the sandbox stand around code of others there, and tell how it ended. The command line ends with a code
    of its own: Python's would be that of a verdict.
    """
    ours = [path for path in MODULES if path.parent.name != "inside"]
    broad = {name(path) for path in ours for node in ast.walk(tree(path)) if catches_everything(node)}
    assert broad == {"service/crosspath/errors.py", "service/crosspath/cli/entry.py"}


def test_every_dependency_is_used() -> None:
    """What an installation brings along is imported somewhere."""
    used = imported(MODULES)
    assert [dist for dist, names in dependencies().items() if not names & used] == []


def test_every_import_is_declared() -> None:
    """What is imported comes from the standard library, from this project or from a declared dependency."""
    declared = set().union(*dependencies().values())
    foreign = imported(MODULES) - set(sys.stdlib_module_names) - {"crosspath", "inside"}  # its own name in the sandbox
    assert sorted(foreign - declared) == ["pytest"]  # which loads the plugin, and nothing else does


def test_pytest_is_imported_by_its_plugin_alone() -> None:
    """An installation needs no pytest: only pytest loads the module that imports it."""
    assert [name(path) for path in MODULES if "pytest" in imported([path])] == ["service/crosspath/pytest_plugin.py"]


def run_python(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60).stdout


def test_import_is_light() -> None:
    """`import crosspath` loads no vendor."""
    loaded = run_python("import sys, crosspath; print(*sys.modules)").split()
    assert sorted(set(loaded) & set(VENDORS)) == []


@pytest.mark.skipif(not (SOURCE / "cli" / "__init__.py").read_text("utf-8").strip(), reason="there is no command line yet")
def test_help_is_light() -> None:
    """`crosspath --help` prints its commands and loads no vendor."""
    code = """
import contextlib, sys
from crosspath.cli import main
sys.argv = ["crosspath", "--help"]
with contextlib.suppress(SystemExit):
    main()
print("LOADED", *sys.modules)
"""
    text, loaded = run_python(code).rsplit("LOADED", 1)
    assert "run" in text
    assert sorted(set(loaded.split()) & set(VENDORS)) == []


def test_console_script() -> None:
    """The command `crosspath` is installed with the package."""
    scripts = importlib.metadata.entry_points(group="console_scripts", name="crosspath")
    assert [script.value for script in scripts] == [PROJECT["project"]["scripts"]["crosspath"]]


class TestTests:
    def test_docstrings(self) -> None:
        """Every test says in a sentence what behaviour it shows."""
        functions = [(path, node) for path in TESTS for node in ast.walk(tree(path)) if isinstance(node, FUNCTION)]
        tests = [(path, node) for path, node in functions if node.name.startswith("test_")]
        assert [f"{name(path)}: {test.name}" for path, test in tests if not ast.get_docstring(test)] == []

    def test_no_mocks(self) -> None:
        """Tests use the fakes that ship; nothing is mocked."""
        mocking = re.compile(r"^\s*(from|import) (unittest|unittest\.mock|mock)\b|\bMagicMock\(", re.MULTILINE)
        others = [path for path in TESTS if path != Path(__file__)]
        assert [name(path) for path in others if mocking.search(path.read_text("utf-8"))] == []


@pytest.mark.parametrize("lock", ["requirements.lock", "requirements-dev.lock"])
class TestLocks:
    def test_hashed(self, lock: str) -> None:
        """Every requirement of a lock is pinned and has a hash, and none names an address or a path."""
        text = (ROOT / lock).read_text("utf-8")
        entries = re.findall(r"^[^# \n].*(?:\n .*)*", text, re.M)
        assert len(entries) > 100
        assert [
            entry for entry in entries if not re.match(r"[a-z0-9.-]+==\S+( ;[^\\]*)? \\\n +--hash=sha256:[0-9a-f]{64}", entry)
        ] == []
        assert not re.search(r"https?:|file:|--(extra-)?index|--find-links| @ ", text)

    def test_complete(self, lock: str) -> None:
        """Every dependency of the project is in the lock."""
        pinned = set(re.findall(r"^([a-z0-9.-]+)==", (ROOT / lock).read_text("utf-8"), re.M))
        assert sorted(set(dependencies()) - pinned) == []


@pytest.mark.parametrize("kind", ["tasks", "validators", "deploy"])
def test_shipped_in_the_wheel(kind: str) -> None:
    """What users edit in a checkout ships inside the wheel, too."""
    included = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    assert included[kind] == f"crosspath/_catalogue/{kind}"
    assert list((ROOT / kind).glob("*.yaml"))
