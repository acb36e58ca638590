"""``crosspath card``: the harness cards of an evaluation, printed or written to files."""

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from crosspath.app import api
from crosspath.errors import ConfigError, StoreError, boundary
from crosspath.reports.card import card_files
from crosspath.reports.card_block import read_block


def card(evaluation: str = "latest", candidate: str | None = None, *, store: str | Path | None = None) -> str:
    """The card of one candidate as Markdown; ``candidate`` may be left out where there is only one.

    Raises:
        ConfigError: there is no such evaluation or candidate, or several candidates and none is named.
    """
    loaded = api.load(evaluation, store=store)
    return loaded.card(only(loaded.id, _names(loaded), candidate))


def card_document(text: str) -> dict[str, Any]:
    """The machine-readable part of a card."""
    read = read_block(text, "the card")
    return {"sha256": read.digest, "card": read.value}


def write_cards(
    evaluation: str, candidate: str | None, output: Path, *, store: str | Path | None = None, force: bool = False
) -> tuple[Path, ...]:
    """Write cards: one file, or into a directory one for each candidate; returns the files.

    ``force``: replace files that are there. A card is replaced without it.

    Raises:
        ConfigError: there is no such evaluation or candidate, several candidates for one file, or a file that is no card stands
            there.
        StoreError: a file can't be written.
    """
    loaded = api.load(evaluation, store=store)
    names = _names(loaded)
    if not is_directory(output):
        chosen = only(loaded.id, names, candidate)
        cards: Iterator[tuple[Path, str]] = iter([(output, loaded.card(chosen))])
    else:
        wanted = names if candidate is None else [only(loaded.id, names, candidate)]
        every = zip(names, card_files(loaded.facts, loaded.judgement), strict=True)
        cards = ((output / file, text) for name, (file, text) in every if name in wanted)
    return tuple(_written(file, text, force) for file, text in cards)


def is_directory(output: Path) -> bool:
    """Whether ``--output`` means a directory: it is one, or what does not end like a page and does not exist."""
    return output.is_dir() or (not output.suffix and not output.exists())


def only(evaluation: str, names: Sequence[str], candidate: str | None) -> str:
    """The candidate that is meant.

    Raises:
        ConfigError: there is none of that name, or several and none is named.
    """
    if candidate is None and len(names) == 1:
        return names[0]
    if candidate is None:
        known = ", ".join(names)
        problem = f"{evaluation} has {len(names)} candidates ({known}): name one, or give a directory as --output"
        raise ConfigError(problem, field="--candidate")
    if candidate not in names:
        raise ConfigError(f"{candidate!r} is not a candidate of {evaluation}; it has: {', '.join(names)}", field="--candidate")
    return candidate


def _names(loaded: "api.Evaluation") -> list[str]:
    return [one.name for one in loaded.facts.lock.candidates]


def _written(file: Path, text: str, force: bool) -> Path:
    """The file, written at once or not at all."""
    if file.exists() and not force and not _is_card(file):
        raise ConfigError("exists and is no card; give --force to replace it", source=str(file), field="--output")
    with boundary(StoreError, f"writing {file}"):
        file.parent.mkdir(parents=True, exist_ok=True)
        handle, fresh = tempfile.mkstemp(prefix=f".{file.name}-", dir=file.parent)
        try:
            with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace", newline="\n") as stream:
                stream.write(text)
            Path(fresh).chmod(0o644)
            Path(fresh).replace(file)
        except BaseException:
            with suppress(OSError):
                Path(fresh).unlink()
            raise
    return file


def _is_card(file: Path) -> bool:
    try:
        read_block(file.read_text(encoding="utf-8"), str(file))
    except (ConfigError, OSError, UnicodeDecodeError):
        return False
    return True
