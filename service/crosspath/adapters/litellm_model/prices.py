"""Prices: litellm's bundled map, read as a file, and what one reply cost."""

import json
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from crosspath.adapters.litellm_model.vendor import OWN_PREFIXES
from crosspath.types import Usage

_MAP = "model_prices_and_context_window_backup.json"


def known_prices(model: str) -> tuple[float, float] | None:
    """USD per million input and output tokens from litellm's bundled map; None where it has none.

    Reads the file that litellm ships: neither litellm is imported nor anything fetched.
    """
    if model.startswith(OWN_PREFIXES):
        return (0.0, 0.0)
    entry = _entry(model)
    paid, received = entry.get("input_cost_per_token"), entry.get("output_cost_per_token")
    if not isinstance(paid, (int, float)) or not isinstance(received, (int, float)):
        return None
    return (round(paid * 1e6, 9), round(received * 1e6, 9))


def cost_of(usage: Usage | None, input_usd_per_mtok: float | None, output_usd_per_mtok: float | None) -> float | None:
    """USD of one reply at the given prices; None where tokens or prices are unknown."""
    if usage is None or usage.prompt_tokens is None or usage.completion_tokens is None:
        return None
    if input_usd_per_mtok is None or output_usd_per_mtok is None:
        return None
    return (usage.prompt_tokens * input_usd_per_mtok + usage.completion_tokens * output_usd_per_mtok) / 1e6


def _entry(model: str) -> dict[str, Any]:
    """The map's entry for ``model``, also where the map leaves the provider's prefix out; the provider must agree then."""
    known = _bundled_map()
    if model in known:
        return known[model]
    provider, _, name = model.partition("/")
    entry = known.get(name, {})
    return entry if str(entry.get("litellm_provider", "")).startswith(provider) else {}


@cache
def _bundled_map() -> dict[str, dict[str, Any]]:
    spec = find_spec("litellm")
    if spec is None or not spec.submodule_search_locations:
        return {}
    path = Path(spec.submodule_search_locations[0]) / _MAP
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
