"""The only module that imports MLflow: with which settings, and which of its names the others use.

Importing MLflow takes seconds; nothing loads this module before something is logged or fetched.
"""

import os
from collections.abc import Callable, Mapping
from typing import Any

from crosspath.adapters.mlflow_tracker.addresses import QUIET_ENVIRONMENT

# Before the import: MLflow reads these when it is loaded. A user's own settings win, except where data would leave or be cut.
os.environ.update(QUIET_ENVIRONMENT)
os.environ["MLFLOW_TRUNCATE_LONG_VALUES"] = "false"
os.environ.setdefault("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")
os.environ.setdefault("MLFLOW_LOGGING_LEVEL", "WARNING")
os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "3")
os.environ.setdefault("MLFLOW_HTTP_REQUEST_TIMEOUT", "60")

from mlflow import MlflowClient
from mlflow.artifacts import download_artifacts
from mlflow.entities import (
    Assessment,
    AssessmentError,
    AssessmentSource,
    Dataset,
    DatasetInput,
    Experiment,
    Feedback,
    InputTag,
    LoggedModel,
    LoggedModelInput,
    LoggedModelStatus,
    Metric,
    Param,
    Run,
    RunTag,
    Span,
    TraceInfo,
    TraceLocation,
    TraceState,
    ViewType,
)
from mlflow.entities.model_registry import ModelVersion as RegisteredVersion
from mlflow.exceptions import MlflowException
from mlflow.tracing.client import TracingClient

__all__ = [
    "Assessment",
    "AssessmentError",
    "AssessmentSource",
    "Dataset",
    "DatasetInput",
    "Experiment",
    "Feedback",
    "InputTag",
    "LoggedModel",
    "LoggedModelInput",
    "LoggedModelStatus",
    "Metric",
    "MlflowClient",
    "MlflowException",
    "Param",
    "RegisteredVersion",
    "Run",
    "RunTag",
    "Span",
    "TraceInfo",
    "TraceLocation",
    "TraceState",
    "TracingClient",
    "ViewType",
    "download_artifacts",
    "genai_scorer",
]


def genai_scorer(function: Callable[[Any, Any, Any], list[Feedback]], name: str) -> Any:
    """A scorer for ``mlflow.genai.evaluate`` that is given inputs, outputs and expectations of a row."""
    from mlflow.genai.scorers import scorer  # another second of imports, which nothing else needs

    def crosspath(inputs: Any = None, outputs: Any = None, expectations: Mapping[str, Any] | None = None) -> list[Feedback]:
        return function(inputs, outputs, expectations)

    return scorer(crosspath, name=name)
