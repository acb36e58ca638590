"""A spec as pytest items: ``pytest --crosspath-spec SPEC`` has one for each task and candidate as deployed.

Without that option nothing is done, and nothing but pytest is imported. With pytest-xdist each worker asks for the evaluation,
and the store lets one of them make it while the others wait.
"""

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from crosspath.app.suite import Suite

_SUITE: "pytest.StashKey[Suite]" = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options; all of them begin with ``--crosspath``."""
    group = parser.getgroup("crosspath", "tasks of a Crosspath spec as items")
    add = group.addoption
    add("--crosspath-spec", metavar="SPEC", help="a spec: one item per task and candidate, evaluated once")
    add("--crosspath-candidate", metavar="NAME", action="append", default=[], help="items of this candidate (repeat for several)")
    add("--crosspath-store", metavar="DIR", help="directory of the ledger (default: $CROSSPATH_STORE or .crosspath)")
    add("--crosspath-executor", choices=("local", "ray"), default="local", help="where it runs (default: local)")
    add("--crosspath-mlflow", action="store_true", dest="crosspath_mlflow", help="log the evaluation to MLflow")
    add("--crosspath-no-mlflow", action="store_false", dest="crosspath_mlflow", help="keep it in the ledger only (the default)")


def _spec(config: pytest.Config) -> Path | None:
    named: str | None = config.getoption("--crosspath-spec", default=None)
    return None if named is None else (config.invocation_params.dir / named).resolve()


def pytest_configure(config: pytest.Config) -> None:
    """The spec is one more file to collect."""
    spec = _spec(config)
    if spec is None:
        return
    if not spec.is_file():
        raise pytest.UsageError(f"--crosspath-spec: there is no file {spec}")
    places = [(config.invocation_params.dir / argument.partition("::")[0]).resolve() for argument in config.args]
    if spec not in places:
        config.args.append(str(spec))


def pytest_report_header(config: pytest.Config) -> str | None:
    """What will be done, and what it costs at worst."""
    spec = _spec(config)
    if spec is None:
        return None
    from crosspath.errors import CrosspathError

    try:
        return f"crosspath: {spec.name}: {_suite(config, spec).about}"
    except CrosspathError as error:
        return f"crosspath: {error}"


def _suite(config: pytest.Config, spec: Path) -> "Suite":
    if _SUITE not in config.stash:
        from crosspath.app.suite import Suite

        asked: Any = config.getoption
        config.stash[_SUITE] = Suite(
            spec,
            candidates=asked("--crosspath-candidate"),
            store=asked("--crosspath-store"),
            executor=asked("--crosspath-executor"),
            track=asked("crosspath_mlflow"),
            session=getattr(config, "workerinput", {}).get("testrunuid"),  # of a worker of pytest-xdist
            notify=lambda sentence: _say(config, sentence),
        )
    return config.stash[_SUITE]


def _say(config: pytest.Config, sentence: str) -> None:
    """A line between the dots; in workers of pytest-xdist there is no terminal, and the header has said the cost."""
    reporter: Any = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None:
        from crosspath.escaping import one_line

        capture: Any = config.pluginmanager.get_plugin("capturemanager")
        with capture.global_and_fixture_disabled() if capture else nullcontext():
            reporter.ensure_newline()
            reporter.write_line(f"crosspath: {one_line(sentence)}")


@contextmanager
def _quiet() -> Iterator[None]:
    """What libraries say of themselves is no matter of an item."""
    disabled = logging.root.manager.disable
    logging.disable(max(disabled, logging.INFO))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(disabled)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> "SpecFile | None":
    """The spec, and no other file."""
    if file_path.resolve() != _spec(parent.config):
        return None
    return SpecFile.from_parent(parent, path=file_path)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A spec in a directory that is collected anyhow is collected twice."""
    seen: set[str] = set()
    for item in list(items):
        if isinstance(item, TaskItem):
            if item.nodeid in seen:
                items.remove(item)
            seen.add(item.nodeid)


class SpecFile(pytest.File):
    """The spec."""

    def collect(self) -> Iterator["CandidateItems"]:
        from crosspath.errors import CrosspathError

        try:
            suite = _suite(self.config, self.path.resolve())
        except CrosspathError as error:
            raise self.CollectError(str(error)) from None
        for name in suite.candidates:
            yield CandidateItems.from_parent(self, name=name)


class CandidateItems(pytest.Collector):
    """The items of one candidate."""

    def collect(self) -> Iterator["TaskItem"]:
        for task in self.config.stash[_SUITE].tasks:
            yield TaskItem.from_parent(self, name=task)


class TaskItem(pytest.Item):
    """One task for one candidate as deployed: all its trials have to pass."""

    def setup(self) -> None:
        """Where no verdict can be given it is an error of the item's set-up, and no failure."""
        from crosspath.errors import CrosspathError

        assert self.parent is not None
        try:
            with _quiet():
                self.outcome = self.config.stash[_SUITE].outcome(self.parent.name, self.name)
        except CrosspathError as error:
            pytest.fail(f"crosspath: {error}", pytrace=False)
        if self.outcome.kind == "unobserved":
            pytest.fail(f"no verdict: {self.outcome.text}", pytrace=False)
        if self.outcome.kind == "skipped":  # its contract states no form of declining: nothing could be right
            pytest.skip(self.outcome.text)

    def runtest(self) -> None:
        if self.outcome.kind == "failed":
            pytest.fail(self.outcome.text, pytrace=False)

    def reportinfo(self) -> tuple[Path, None, str]:
        assert self.parent is not None
        return self.path, None, f"{self.parent.name}: {self.name}"
