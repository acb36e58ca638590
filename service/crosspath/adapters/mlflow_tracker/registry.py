"""MLflow's model registry: the ``Registry`` port."""

from pathlib import Path


class MlflowRegistry:
    """Registered models, verdicts and decisions at an MLflow server or in an embedded store."""

    def __init__(self, tracking_uri: str, artifact_root: Path | None = None) -> None:
        self._uri = tracking_uri
        self._artifact_root = artifact_root
