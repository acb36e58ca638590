"""Contracts in MLflow's prompt registry: a version of its own for each text."""

from collections.abc import Iterable

from crosspath.adapters.mlflow_tracker.names import MAX_PROMPT, prompt_name
from crosspath.adapters.mlflow_tracker.vendor import MlflowClient
from crosspath.types import Text


def register_contracts(client: MlflowClient, experiment: str, contracts: Iterable[Text]) -> dict[str, tuple[str, int]]:
    """Contract -> name and version in the prompt registry; a new version only where the text is new."""
    return {text.name: _registered(client, experiment, text) for text in contracts if 0 < len(text.content) <= MAX_PROMPT}


def _registered(client: MlflowClient, experiment: str, text: Text) -> tuple[str, int]:
    name = prompt_name(text.name)
    if client.get_prompt(name) is None:
        client.create_prompt(name, f"What a model is told under the contract {text.name}", {})
    _show_in_experiment(client, name, experiment)
    versions = client.search_model_versions(f"name = '{name}' and tags.`mlflow.prompt.is_prompt` = 'true'")
    for version in versions:
        found = client.get_prompt_version(name, version.version)
        if found and found.template == text.content:
            return name, int(version.version)
    tags = {"crosspath.digest": text.digest, "crosspath.version": text.version or "unset"}
    made = client.create_prompt_version(name, text.content, f"contract {text.name}, version {text.version or 'unset'}", tags)
    return name, int(made.version)


def _show_in_experiment(client: MlflowClient, prompt: str, experiment: str) -> None:
    """List the prompt on the experiment's page. MLflow keeps the ids in one tag, with a comma on either side of each."""
    tags = getattr(client.get_prompt(prompt), "tags", None) or {}
    known = [one for one in tags.get("_mlflow_experiment_ids", "").split(",") if one]
    if experiment not in known:
        client.set_prompt_tag(prompt, "_mlflow_experiment_ids", f",{','.join([*known, experiment])},")
