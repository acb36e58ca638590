"""Public faults of evaluation tools and of the libraries underneath: each that is about aggregation, missing data, repeats, order
or usage has a test that cites its report, and shows the right answer to its small input.
"""

import ast
import math
from functools import cache
from pathlib import Path

import pytest

from builders import evaluation
from crosspath.adapters.mlflow_tracker.layout import layout
from crosspath.catalogue import suite_text
from crosspath.pipeline.judge import judge
from crosspath.testing.validator import FakeValidator
from crosspath.types import Fault

TESTS = Path(__file__).parents[1]
GITHUB = "https://github.com/"
REPORTS = {
    "errors leave the denominator": "UKGovernmentBEIS/inspect_ai/pull/3781",
    "a budget spent on reasoning is a wrong answer": "UKGovernmentBEIS/inspect_ai/issues/5467",
    "a restart overwrites usage": "UKGovernmentBEIS/inspect_ai/issues/2628",
    "replies of one model are reported for another": "EleutherAI/lm-evaluation-harness/issues/4063",
    "sampling settings are not in the cache's key": "EleutherAI/lm-evaluation-harness/issues/3881",
    "repeats share one cached reply": "EleutherAI/lm-evaluation-harness/pull/3715",
    "the key is made of the template": "promptfoo/promptfoo/issues/1492",
    "scores differ with the number of requests at once": "vllm-project/vllm/issues/23138",
    "the worse system wins by its missing rows": "vibrantlabsai/ragas/issues/3028",
    "one failed row makes the mean NaN": "deepset-ai/haystack/pull/11510",
    "results in the order of completion are joined by place": "confident-ai/deepeval/pull/3159",
    "a run hangs after the last case": "confident-ai/deepeval/issues/1147",
    "tokens are counted on the error path only, or twice": "promptfoo/promptfoo/issues/4673",
    "errors become -1 and are filtered out": "instructlab/eval/issues/39",
    "another model answers silently": "google-gemini/gemini-cli/issues/28859",
    "results stay on the worker until the end": "marin-community/marin/issues/7930",
    "a time-out with a right state is dropped, or not marked": "hud-evals/hud-python/pull/526",
    "rows without an optional field fall out": "OpenHands/benchmarks/issues/632",
    "success after none of the tests was run": "terrylica/cc-skills/issues/113",
    "time-outs are seen only in the log": "OpenHands/benchmarks/issues/202",
    "an infinite metric is stored as the largest float": "mlflow/mlflow/pull/1573",
    "the cost of an unknown model is 0": "BerriAI/litellm/issues/10155",
    "usage that was not sent is zero": "BerriAI/litellm/issues/8349",
}
"""What went wrong -> the report that its test cites."""


@cache
def cited() -> str:
    """The docstrings of all tests."""
    found: list[str] = []
    for path in sorted(TESTS.rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name.startswith("test_"):
                found.append(ast.get_docstring(node) or "")
    return "\n".join(found)


@pytest.mark.parametrize("report", REPORTS.values(), ids=list(REPORTS))
def test_each_has_a_test(report: str) -> None:
    """The report of each such fault stands in the docstring of a test."""
    assert GITHUB + report in cited()


def test_what_is_undefined_is_no_metric() -> None:
    """Where nothing could be observed no rate, effect or cost is logged, neither as infinity nor as NaN or a largest number; what
    is missing is counted.

    https://github.com/mlflow/mlflow/pull/1573, https://github.com/mlflow/mlflow/pull/22826
    """
    facts, _ = evaluation()
    fault = Fault(boundary="sandbox", type="start_failed", message="")
    nothing = tuple(replay.model_copy(update={"execution": None, "fault": fault}) for replay in facts.replays)
    lost = facts.model_copy(update={"replays": nothing, "suites": (suite_text("exact"),)})
    found = layout(lost, judge(lost, FakeValidator()), max_rows=10)
    metrics = [metric for run in (found.parent, *found.nested) for metric in run.metrics.items()]
    assert metrics
    assert all(math.isfinite(value) and abs(value) < 1e12 for _, value in metrics)
    assert any("missing" in name or "fault" in name for name, value in metrics if value > 0)
