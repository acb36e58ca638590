"""A spec's own files, named so that they are found from another directory: the watch spec may lie elsewhere than its spec."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crosspath.pipeline.answers import provider, recorded_file


@dataclass(frozen=True)
class Moved:
    """From one directory to another, both absolute."""

    base: Path
    """Where names of files start from now."""
    target: Path
    """Where they are to start from."""

    def file(self, name: str) -> str:
        """A relative name of a file that exists; anything else stays as it is."""
        if self.base == self.target or Path(name).is_absolute() or not self._exists(name):
            return name
        return os.path.relpath(self.base / name, self.target)

    def files(self, names: Sequence[str]) -> list[str]:
        return [self.file(name) for name in names]

    def model(self, name: str) -> str:
        """``recorded/FILE#MODEL`` with its file."""
        if provider(name) != "recorded":
            return name
        file, part = recorded_file(name)
        return f"recorded/{self.file(file)}" + (f"#{part}" if part else "")

    def transport(self, config: Any) -> Any:
        """A user's own path: the files of a harness, and what makes a function importable that lies beside the spec."""
        if not isinstance(config, Mapping):
            return config
        if "external" in config:
            return {**config, "external": self._program(config["external"])}
        return self._function(config) if "callable" in config else dict(config)

    def _program(self, given: Mapping[str, Any]) -> dict[str, Any]:
        bound = [(self.base / name).resolve() for name in given.get("bind", ())]
        argv = [self.file(word) if self._inside(word, bound) else word for word in given["argv"]]
        bind = {"bind": self.files(given["bind"])} if "bind" in given else {}
        return {**given, "argv": argv, **bind}

    def _inside(self, word: str, bound: Sequence[Path]) -> bool:
        if not self._exists(word):
            return False
        place = (self.base / word).resolve()
        return any(place == path or path in place.parents for path in bound)

    def _function(self, given: Mapping[str, Any]) -> dict[str, Any]:
        bind = self.files(given.get("bind", ()))
        if self.base != self.target and (beside := self._beside(given["callable"])) and beside not in bind:
            bind.append(beside)
        python = {"python": self.file(given["python"])} if "/" in given.get("python", "") else {}
        return {**given, **python, **({"bind": bind} if bind else {})}

    def _beside(self, function: str) -> str | None:
        """The module or package of a function, where it lies in the directory that names start from."""
        top = function.partition(":")[0].partition(".")[0]
        found = [name for name in (top, f"{top}.py") if self._exists(name)]
        return self.file(found[0]) if found else None

    def _exists(self, name: str) -> bool:
        try:
            return bool(name) and (self.base / name).exists()
        except (OSError, ValueError):  # no file could have such a name
            return False
