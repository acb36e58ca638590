"""Logs of model calls, read into one form: MLflow traces, Inspect logs, OpenAI-style lines, Langfuse exports, recordings."""

from crosspath.logged.calls import KINDS, Kind, LoggedCall

__all__ = ["KINDS", "Kind", "LoggedCall"]
