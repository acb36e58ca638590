"""Is an endpoint there? Asked without spending a token."""

import os

import httpx

from crosspath.adapters.litellm_model.vendor import OWN_PREFIXES, litellm
from crosspath.errors import BoundaryError, ModelError, boundary


def probe(model: str, api_base: str | None = None, api_key_env: str | None = None, timeout_s: float = 5.0) -> str | None:
    """One line of trouble with the way to ``model``, or None.

    With ``api_base`` it asks for ``/models``; any answer below 500 counts as reachable, because many servers don't offer that
    list, or not without a key. Without ``api_base`` only the key's presence is checked: nothing is contacted.
    """
    if api_key_env is not None and not os.environ.get(api_key_env):
        return f"{model}: the environment variable {api_key_env} is not set"
    if model.startswith(OWN_PREFIXES):
        return None
    if api_base is None:
        return None if api_key_env else _missing_keys(model)
    return _ask(api_base, os.environ.get(api_key_env) if api_key_env else None, timeout_s)


def _missing_keys(model: str) -> str | None:
    missing = litellm().validate_environment(model)["missing_keys"]
    return f"{model}: set {' and '.join(missing)}, or name the key's variable in the spec as api_key_env" if missing else None


def _ask(api_base: str, key: str | None, timeout_s: float) -> str | None:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    url = f"{api_base.rstrip('/')}/models"
    try:
        with boundary(ModelError, url):
            status = httpx.get(url, headers=headers, timeout=timeout_s).status_code
    except BoundaryError as error:
        return f"not reachable: {error}"
    return f"{url} answers with status {status}" if status >= 500 else None
