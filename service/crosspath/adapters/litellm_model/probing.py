"""Is an endpoint there? Asked without spending a token."""

import os
from dataclasses import dataclass

import httpx

from crosspath.adapters.litellm_model.vendor import OWN_PREFIXES, litellm
from crosspath.errors import BoundaryError, ModelError, boundary

BROKEN = frozenset({500, 502, 503, 504})
"""Answers to ``/models`` that promise no good for ``/chat/completions``; all others come from a server that works."""


@dataclass(frozen=True)
class Probed:
    """What was found out about one way to a model."""

    ok: bool
    said: str
    """A few words: how it was reached, or what the trouble is."""


def probe(model: str, api_base: str | None = None, api_key_env: str | None = None, timeout_s: float = 5.0) -> Probed:
    """Whether there is a way to ``model``.

    With ``api_base`` it asks for ``/models``; most answers count as reachable, because many servers don't offer that list, or
    not without a key. Without ``api_base`` only the key's presence is checked: nothing is contacted.
    """
    if api_key_env is not None and not os.environ.get(api_key_env):
        return Probed(False, f"{model}: the environment variable {api_key_env} is not set")
    if model.startswith(OWN_PREFIXES):
        return Probed(True, "needs no endpoint")
    if api_base is not None:
        return _ask(api_base, os.environ.get(api_key_env) if api_key_env else None, timeout_s)
    missing = None if api_key_env else _missing_keys(model)
    return Probed(missing is None, missing or "its key is set (not contacted)")


def _missing_keys(model: str) -> str | None:
    missing = litellm().validate_environment(model)["missing_keys"]
    return f"{model}: set {' and '.join(missing)}, or name the key's variable in the spec as api_key_env" if missing else None


def _ask(api_base: str, key: str | None, timeout_s: float) -> Probed:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    url = f"{api_base.rstrip('/')}/models"
    try:
        with boundary(ModelError, url):
            status = httpx.get(url, headers=headers, timeout=timeout_s).status_code
    except BoundaryError as error:
        return Probed(False, f"not reachable: {error}")
    if status in BROKEN:
        return Probed(False, f"{url} answers with status {status}")
    return Probed(True, _reachable(status, key))


def _reachable(status: int, key: str | None) -> str:
    if status < 300:
        return "reachable"
    if status in (401, 403):
        return f"reachable; /models wants {'another' if key else 'a'} key ({status})"
    return f"reachable; it offers no /models ({status})"
