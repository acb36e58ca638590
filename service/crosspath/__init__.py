"""Crosspath: which stage of a deployment configuration broke.

``evaluate``, ``replay``, ``validate``, ``load``, ``compare``, ``explain``, ``recommend``, ``gate``, ``drift``,
``import_published`` and ``log`` are the whole of the tool; the command line only calls these. They are imported when first used,
so that ``import crosspath`` costs nothing.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from crosspath.app.api import audit, compare, evaluate, gate, import_published, load, log, recommend, replay, validate
    from crosspath.app.drifting import drift
    from crosspath.app.evaluation import Evaluation
    from crosspath.app.explaining import explain
    from crosspath.app.scorer import scorer

__version__ = "0.1.0"
__all__ = [
    "Evaluation",
    "audit",
    "compare",
    "drift",
    "evaluate",
    "explain",
    "gate",
    "import_published",
    "load",
    "log",
    "recommend",
    "replay",
    "scorer",
    "validate",
]


def __getattr__(name: str) -> Any:
    if name == "Evaluation":
        from crosspath.app.evaluation import Evaluation

        return Evaluation
    if name == "drift":
        from crosspath.app.drifting import drift

        return drift
    if name == "explain":
        from crosspath.app.explaining import explain

        return explain
    if name == "scorer":
        from crosspath.app.scorer import scorer

        return scorer
    if name in __all__:
        from crosspath.app import api

        return getattr(api, name)
    raise AttributeError(f"module 'crosspath' has no attribute {name!r}")
