"""What older versions wrote, brought to today's form: ordered pure steps, each from one version of a form to the next.

A form has one version for all its parts. Whoever changes a record appends a step to its form here (none of its parts need change:
then it is empty), so the version of a form is the number of its steps and one. CONTRIBUTING.md says what else there is to do.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import ValidationError

from crosspath import __version__
from crosspath.errors import StoreError
from crosspath.types import Record

Change = Callable[[Any], Any]
"""A JSON value as one version wrote it -> as the next one does; its argument stays as it is."""

R = TypeVar("R", bound=Record)


@dataclass(frozen=True)
class Form:
    """What is written, and how each older version becomes the next one."""

    name: str
    """For messages: ``an entry of a series``."""
    steps: tuple[Mapping[str, Change], ...] = ()
    """The first leads from version 1 to 2. Name of a part -> its change; other parts stay as they are."""

    @property
    def version(self) -> int:
        """That of today."""
        return len(self.steps) + 1

    def changes(self, part: str, version: object) -> bool:
        """Whether the part was another one in that version.

        Raises:
            StoreError: a newer version, or none at all.
        """
        return any(part in step for step in self._since(version))

    def upgraded(self, document: Any, version: object, part: str = "") -> Any:
        """The document of that version as it is written today.

        Raises:
            StoreError: a newer version, or none at all.
        """
        for step in self._since(version):
            document = step[part](document) if part in step else document
        return document

    def _since(self, version: object) -> tuple[Mapping[str, Change], ...]:
        if not isinstance(version, int) or isinstance(version, bool) or version < 1:
            raise StoreError(f"{version!r} is no version of {self.name}; it has to be a number from 1 to {self.version}")
        if version > self.version:
            newer = f"{self.name} of version {version}; Crosspath {__version__} reads versions up to {self.version}"
            raise StoreError(f"{newer}: update it")
        return self.steps[version - 1 :]

    def parsed(self, record: type[R], data: str | bytes, source: str, part: str = "") -> R:
        """The record of a JSON document that says its own ``version``; without one it is of version 1.

        Raises:
            StoreError: of a newer version, or none at all; one line that names ``source``.
        """
        try:
            document = json.loads(data)
            version = document.get("version", 1)
            if version == self.version:
                return record.from_json(data)
            return record.model_validate(self.upgraded(document, version, part) | {"version": self.version})
        except StoreError as error:
            raise StoreError(f"{source}: {error}") from None
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            raise StoreError(f"{source} is not {self.name}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
        except (ValueError, AttributeError, RecursionError) as error:
            raise StoreError(f"{source} is not {self.name}: {type(error).__name__}") from None


def _with_every_section(plan: Mapping[str, Any]) -> dict[str, Any]:
    """A plan from before contracts and paths were kept as records, or styles at all."""
    return {"contract_specs": [], "path_specs": [], "styles": [], **plan}


BUNDLE = Form("a bundle", ({"plan": _with_every_section},))
"""Parts: ``head``, ``lock``, ``plan``, ``judgement``, and a row of each table by its name; the ledger holds the same records.
2: request styles, declining and held-out tasks."""
VERDICT = Form("a gate's verdict")
"""Parts: the ``verdict`` itself, and ``evidence`` beside it."""
CARD = Form("a harness card")
ENTRY = Form("an entry of a series")
DRIFT = Form("a look at a deployment")
