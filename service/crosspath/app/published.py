"""Published tables: imported, listed, and found again for a report. Nothing of them ever enters an estimate."""

import time
from pathlib import Path
from typing import Any

from crosspath.analysis.published import NO_INTERVAL, PublishedOrder, published_effects, published_orders
from crosspath.app import adapters
from crosspath.app.published_file import read_published
from crosspath.store.published import check_name, load_published, published_names, remove_published, save_published
from crosspath.types import Published


def import_published(
    file: str | Path, *, name: str | None = None, replace: bool = False, store: str | Path | None = None
) -> Published:
    """Keep published counts with their citation in the store. The same file again changes nothing.

    Args:
        file: JSON with ``source`` (the citation) and ``rows`` of ``model``, ``n`` and ``passed`` by cell (RR, RN, NR, NN).
        name: how it is called from now on; default: the file's name without its ending.
        replace: take the place of another table of that name.
        store: directory of the ledger; default ``$CROSSPATH_STORE`` or ``.crosspath``.

    Raises:
        ConfigError: the file is wrong, what it states does not follow from its counts, or the name is taken; nothing was kept.
        StoreError: it can't be written.
    """
    path = Path(file)
    called = check_name(path.stem if name is None else name)
    return save_published(adapters.store_directory(store), read_published(path, called, time.time()), replace=replace)


def find_published(name: str, *, store: str | Path | None = None) -> Published:
    """A table that was imported.

    Raises:
        ConfigError: there is none of that name.
        StoreError: it can't be read.
    """
    return load_published(adapters.store_directory(store), name)


def all_published(*, store: str | Path | None = None) -> tuple[Published, ...]:
    """All tables that were imported, by name.

    Raises:
        StoreError: one can't be read.
    """
    directory = adapters.store_directory(store)
    return tuple(load_published(directory, name) for name in published_names(directory))


def forget_published(name: str, *, store: str | Path | None = None) -> None:
    """Remove a table.

    Raises:
        ConfigError: there is none of that name.
        StoreError: it can't be removed.
    """
    remove_published(adapters.store_directory(store), name)


def published_document(published: Published) -> dict[str, Any]:
    """The table with what follows from it, for JSON: effects in points, orders of models, and why there is no interval."""
    effects = [
        {"model": model.model} | {f"{name}_pp": float(100 * value) for name, value in published_effects(model).items()}
        for model in published.models
    ]
    orders = [_order(one) for one in published_orders(published)]
    return {"published": published.model_dump(mode="json"), "effects": effects, "orders": orders, "interval": NO_INTERVAL}


def _order(order: PublishedOrder) -> dict[str, Any]:
    cells = {"first": order.first, "second": order.second}
    found = order.rankings
    if found is None:
        return cells | {"reason": order.reason}
    return cells | {
        "models": found.models,
        "comparable_pairs": found.comparable_pairs,
        "strict_reversals": len(found.reversals),
        "unambiguous": found.unambiguous,
        "tau_a": found.tau_a,
        "tau_b": found.tau_b,
        "pairs": [{"a": pair.a, "b": pair.b, "unambiguous": pair.unambiguous} for pair in found.reversals],
    }
