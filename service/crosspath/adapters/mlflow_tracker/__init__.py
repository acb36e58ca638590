"""Evaluations in MLflow: the ``Tracker`` port. MLflow is loaded with :class:`MlflowTracker`, not before."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from crosspath.adapters.mlflow_tracker.tracker import MlflowRef, MlflowTracker

__all__ = ["MlflowRef", "MlflowTracker"]


def __getattr__(name: str) -> Any:
    """The addresses of stores are wanted without MLflow, which takes seconds to load."""
    if name in __all__:
        from crosspath.adapters.mlflow_tracker import tracker

        return getattr(tracker, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
