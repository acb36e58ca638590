"""The scorer in a real `mlflow.genai.evaluate`, in a process of its own, because MLflow keeps settings for the whole process."""

import json
import shutil
from pathlib import Path

import pytest

from started import Started

pytestmark = pytest.mark.skipif(shutil.which("bwrap") is None, reason="needs bubblewrap (make deps)")

PROGRAM = """\
import json, sys
import crosspath, mlflow

mlflow.set_tracking_uri("sqlite:///mlflow.db")
mlflow.set_experiment("replies")
nested = crosspath.scorer("nested-shell", tasks={"families": ["exact-file"]})
rows = [
    {"inputs": {"task": "exact-file/price"}, "outputs": "echo 'Two seats for $40, three for $55' > offer.txt"},
    {"inputs": {"task": "exact-file/nowhere"}, "outputs": "ls"},
]
done = mlflow.genai.evaluate(data=rows, scorers=[nested])
found = [
    (one["assessment_name"], one["feedback"].get("value"), (one["feedback"].get("error") or {}).get("error_code"))
    for _, row in done.result_df.iterrows()
    for one in row["assessments"]
]
with open("found.json", "w") as file:
    json.dump({"metrics": {name: float(value) for name, value in done.metrics.items()}, "found": found}, file)
"""


def test_replies_are_executed_and_judged(tmp_path: Path) -> None:
    """A row gets right, silent_wrong, cause, reference_right and damage; one that can't be scored is an error and in no mean."""
    started = Started([], tmp_path / "said", {}, there=tmp_path, program=PROGRAM)
    assert started.wait(300) == 0, started.stderr[-2000:]
    document = json.loads((tmp_path / "found.json").read_text())
    assert [tuple(one) for one in document["found"] if one[2] is None] == [
        ("right", False, None), ("silent_wrong", True, None), ("cause", "wrong_state", None),
        ("reference_right", True, None), ("damage", -1, None),
    ]  # fmt: skip
    assert [one[1:] for one in document["found"] if one[2] is not None] == [[None, "no_such_task"]] * 5
    assert document["metrics"]["right/mean"] == 0
    assert document["metrics"]["damage/mean"] == -1
