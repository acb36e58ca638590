"""The spec: short when little is asked, exact in what it resolves to, and clear about every mistake."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import ValidationError

from crosspath.errors import ConfigError
from crosspath.spec import Spec, load_spec, spec_schema
from crosspath.spec.sections import TasksSection
from crosspath.strict_yaml import load_yaml
from crosspath.types import OperatingPoint

DEPLOY = Path(__file__).parents[2] / "deploy"
ONE = "candidates: {a: openai/small}\n"
TWO_MODELS = "models: {x: openai/x, y: openai/y}\n"


def read(text: str) -> Spec:
    return load_spec(text, "specs/ask.yaml")


def refused(text: str) -> str:
    """The one line that a mistake gives."""
    with pytest.raises(ConfigError) as caught:
        read(text)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def names(spec: Spec) -> list[str]:
    return [candidate.name for candidate in spec.candidates_resolved()]


class TestResolving:
    def test_one_line(self) -> None:
        """One line is a whole spec: raw contract, raw path, whole catalogue, one trial, in the sandbox."""
        spec = read(ONE)
        (candidate,) = spec.candidates_resolved()
        assert (candidate.generation.model.name, candidate.generation.contract, candidate.transport) == (
            "openai/small",
            "raw",
            "raw",
        )
        assert (spec.name, spec.trials, spec.sandbox, spec.executor.kind) == ("ask", 1, "bubblewrap", None)
        assert spec.tasks.families == spec.tasks.files == ()

    def test_models_alone(self) -> None:
        """Without candidates every model is one."""
        spec = read(TWO_MODELS + "defaults: {contract: nested-shell, transport: nested-shell}")
        assert names(spec) == ["x", "y"]
        assert {candidate.transport for candidate in spec.candidates_resolved()} == {"nested-shell"}

    def test_the_only_model(self) -> None:
        """A candidate without a model takes the only one that is listed."""
        spec = read("models: {x: openai/x}\ncandidates: {a: {transport: nested-shell}, b: {}}")
        assert [candidate.generation.model.name for candidate in spec.candidates_resolved()] == ["openai/x", "openai/x"]

    def test_model_details(self) -> None:
        """Address, key variable, parameters and prices reach the candidate."""
        model = (
            "{model: openai/x, api_base: 'http://h:1/v1', api_key_env: KEY, params: {top_k: 5}, prices: {gpu_usd_per_hour: 2}}"
        )
        spec = read(f"models: {{x: {model}}}")
        resolved = spec.candidates_resolved()[0].generation.model
        assert (resolved.name, resolved.api_base, resolved.api_key_env) == ("openai/x", "http://h:1/v1", "KEY")
        assert resolved.params == {"top_k": 5}
        assert resolved.prices is not None
        assert resolved.prices.gpu_usd_per_hour == 2

    def test_operating_points_merge(self) -> None:
        """A candidate's operating point is laid over the defaults' field by field; null takes a default back."""
        text = "defaults: {operating_point: {temperature: 0, seed: 1}}\n"
        text += "candidates: {a: {model: m, operating_point: {seed: null, top_p: 1}}}"
        (candidate,) = read(text).candidates_resolved()
        assert candidate.generation.operating_point == OperatingPoint(temperature=0, top_p=1)

    def test_tools_taken_back(self) -> None:
        """`tools: null` offers all tools again where the defaults offer some."""
        text = "defaults: {tools: [run_shell]}\ncandidates: {a: {model: m}, b: {model: m, tools: null}, c: {model: m, tools: []}}"
        assert [candidate.generation.tools for candidate in read(text).candidates_resolved()] == [("run_shell",), None, ()]

    def test_grid(self) -> None:
        """A grid is the full cross; names are made of the axes that vary, in letters that MLflow takes."""
        text = TWO_MODELS + "grid: {model: [x, 'bedrock/m:1'], transport: [raw], operating_point: [{temperature: 0}, {}]}"
        assert names(read(text)) == ["x temperature-0", "x default", "bedrock/m-1 temperature-0", "bedrock/m-1 default"]

    def test_grid_beside_candidates(self) -> None:
        """A grid adds to the named candidates, and the defaults hold for both."""
        spec = read("defaults: {contract: json}\ncandidates: {a: p/m}\ngrid: {model: [p/m, p/n]}")
        assert names(spec) == ["a", "p/m", "p/n"]
        assert {candidate.generation.contract for candidate in spec.candidates_resolved()} == {"json"}

    def test_kind_model_holds(self) -> None:
        """`kind: model` accepts candidates that differ in their model only."""
        assert names(read("kind: model\n" + TWO_MODELS)) == ["x", "y"]

    def test_resolved(self) -> None:
        """The resolved spec is plain JSON with every default written out, and nothing left to be merged."""
        value = read("executor: local\n" + ONE).resolved()
        assert json.loads(json.dumps(value)) == value
        assert value["executor"] == {"kind": "local", "address": None, "replay_workers": None, "model_concurrency": 8}
        assert value["candidates"]["a"]["operating_point"]["max_tokens"] == 1024
        assert not value.keys() & {"models", "defaults", "grid"}

    def test_prices_of_own(self) -> None:
        """Models that are asked over the network without prices of their own are listed once, by litellm's name."""
        text = "models: {p: {model: o/p, prices: {input_usd_per_mtok: 1, output_usd_per_mtok: 2}}}\n"
        text += "candidates: {a: p, b: o/bare, c: o/bare, d: baseline/oracle, e: recorded/r.jsonl}"
        assert read(text).models_without_prices() == ("o/bare",)

    def test_empty_sections(self) -> None:
        """A section that is left empty is the same as one left out."""
        assert read(ONE + "tasks:\nexecutor:\nlimits:\nname:\n").digest == read(ONE).digest


class TestDigest:
    @pytest.mark.parametrize(
        "change",
        [
            "name: other\n",
            "experiment: other\n",
            "executor: ray\n",
            "limits: {max_cost_usd: 1}\n",
            "retries: {max_attempts: 1}\n",
        ],
    )
    def test_unchanged(self, change: str) -> None:
        """Names, executor, limits and retries change no reply and no replay: a stopped evaluation goes on after a change."""
        assert read(ONE + change).digest == read(ONE).digest

    @pytest.mark.parametrize(
        "change",
        [
            "trials: 2\n",
            "sandbox: none\n",
            "tasks: {tiers: [0]}\n",
            "reference: {transport: script-file}\n",
            "defaults: {harness: strip}\n",
        ],
    )
    def test_changed(self, change: str) -> None:
        """What affects a reply or a replay changes the digest."""
        assert read(ONE + change).digest != read(ONE).digest

    @given(st.permutations(["trials: 2", "sandbox: none", "candidates: {a: m}", "kind: model", "contracts: [c.md]"]))
    def test_order(self, lines: list[str]) -> None:
        """The order of keys means nothing."""
        assert read("\n".join(lines)).digest == read("\n".join(sorted(lines))).digest

    def test_key_variable_and_prices(self) -> None:
        """Neither the name of the key's variable nor a price is part of the digest."""
        full = "{model: o/x, api_key_env: K, prices: {gpu_usd_per_hour: 1}}"
        assert read(f"models: {{x: {full}}}").digest == read("models: {x: o/x}").digest


class TestMistakes:
    @pytest.mark.parametrize(
        ("text", "line"),
        [
            ("candidats: {}", "1: candidats: unknown field; did you mean candidates?"),
            ("candidates:\n  a:\n    transprt: raw", "3: candidates.a.transprt: unknown field; did you mean transport?"),
            (
                "candidates:\n  a: {operating_point: {temp: 1}}",
                "2: candidates.a.operating_point.temp: unknown field; did you mean temperature",
            ),
            (ONE + "limits: {max_cost: 1}", "2: limits.max_cost: unknown field; did you mean max_cost_usd"),
            (ONE + "reference: {contrac: raw}", "2: reference.contrac: unknown field; did you mean contract?"),
            (ONE + "executor: rya", "2: executor.kind: must be 'ray' or 'local', not 'rya'; did you mean ray?"),
            (ONE + "sandbox: no", "2: sandbox: must be 'bubblewrap' or 'none', not 'no'; did you mean none?"),
            (ONE + "trials: two", "2: trials: must be a whole number, not 'two'"),
            (ONE + "trials: 0", "2: trials: must be greater than or equal to 1, not 0"),
            (ONE + "trials: 1.5", "2: trials: must be a whole number"),
            (ONE + "tasks: {tiers: [0, 5]}", "2: tasks.tiers[1]: must be less than or equal to 3, not 5"),
            (ONE + "tasks: {families: rename}", "2: tasks.families: must be a list, not 'rename'"),
            (ONE + "tasks: {partition: held}", "2: tasks.partition: must be 'public', 'heldout' or 'both', not 'held'"),
            (ONE + "tasks: {heldout_draws: 0}", "2: tasks.heldout_draws: must be greater than or equal to 1, not 0"),
            (ONE + "tasks: {heldout_seed: x}", "2: tasks.heldout_seed: unknown field; did you mean heldout_seed_env"),
            (ONE + "tasks: {heldout_seed_env: S}", "2: tasks: held-out tasks are asked for, but partition is public; write"),
            (ONE + "tasks: {heldout_draws: 2}", "2: tasks: held-out tasks are asked for, but partition is public; write"),
            (ONE + "transports: {mine: 5}", "2: transports: mine must be a list of layers, or a mapping with `external:`"),
            (ONE + "name: a:b", "2: name: "),
            (ONE + "name: ../up", "2: name: '../up' is no name"),
            ("candidates:\n  a: o/x\n  A: o/y", "3: candidates.A: the name 'A' is taken by 'a'"),
            ("candidates:\n  a: o/x\n  a: o/y", "3: 'a' stands here twice"),
            (
                "candidates:\n  a:b: o/x",
                "2: candidates.a:b: 'a:b' is no name: 1-60 letters, digits, spaces or _ - . / are possible",
            ),
            ("candidates: {' a': o/x}", "1: candidates. a: ' a' is no name: no space at either end"),
            ("candidates: {a: {}}", "1: candidates.a: model is missing"),
            ("candidates: {a: [x]}", "1: candidates.a: must be a mapping"),
            (
                TWO_MODELS + "candidates: {a: z}",
                "2: candidates.a.model: 'z' is neither in models nor a litellm string (provider/model); known: x, y",
            ),
            (TWO_MODELS + "grid: {}", "2: grid: must list the values of at least one axis"),
            (TWO_MODELS + "grid: {model: []}", "2: grid.model: must have at least 1 item"),
            ("models: {x: {model: o/x, api_base: here}}", "1: models.x.api_base: 'here': must be an address such as http://"),
            (
                "models: {x: {model: o/x, api_key_env: a b}}",
                "1: models.x.api_key_env: 'a b': must be the name of an environment variable",
            ),
            (
                "models: {x: {model: o/x, prices: {input_usd_per_mtok: 1}}}",
                "1: models.x.prices: input_usd_per_mtok and output_usd_per_mtok",
            ),
            (
                "models: {x: {model: o/x, params: {temperature: 1}}}",
                "1: models.x.params: temperature belongs into operating_point",
            ),
            (
                "models: {x: {model: o/x, params: {num_retries: 1}}}",
                "1: models.x.params: num_retries can't be set; use retries of the spec",
            ),
            ("models: {x: {}}", "1: models.x.model: is missing"),
        ],
    )
    def test_one_line(self, text: str, line: str) -> None:
        """A mistake gives one line: file and line, field, value, and what would be right."""
        assert refused(text).startswith(f"specs/ask.yaml:{line}")

    @pytest.mark.parametrize("text", ["", "- a", "just words", "trials: 3"])
    def test_nothing_asked(self, text: str) -> None:
        """A document that asks for no candidate is refused, and the line says what is needed."""
        assert "`models:`" in refused(text)

    def test_kind_model(self) -> None:
        """`kind: model` names the field that is not held fixed, both candidates and both values."""
        line = refused("kind: model\ncandidates:\n  a: {model: o/x}\n  b: {model: o/y, transport: nested-shell}")
        assert line.startswith("specs/ask.yaml:4: candidates.b.transport: ")
        assert "transport is 'raw' in 'a' and 'nested-shell' in 'b'" in line

    def test_kind_model_operating_point(self) -> None:
        """An operating point that differs is shown by what is set in it."""
        line = refused("kind: model\ncandidates: {a: o/x, b: {model: o/y, operating_point: {temperature: 1}}}")
        assert "operating_point is the default in 'a' and {'temperature': 1.0} in 'b'" in line

    def test_grid_too_large(self) -> None:
        """A grid of too many candidates is refused by its size before it is built."""
        values = ", ".join(f"o/m{n}" for n in range(40))
        assert "describes 1600 candidates" in refused(f"grid: {{model: [{values}], contract: [{values}]}}")

    def test_generated_name_too_long(self) -> None:
        """A generated name that MLflow would not take is refused, not cut."""
        assert "is no name" in refused(f"grid: {{model: [o/{'x' * 60}]}}")


class TestSecrets:
    @pytest.mark.parametrize(
        "model",
        [
            "{model: o/x, params: {api_key: hunter2222}}",
            "{model: o/x, api_key: hunter2222}",
            "{model: o/x, params: {extra_headers: {Authorization: hunter2222}}}",
            "{model: o/x, params: {extra_headers: {x-api-key: hunter2222}}}",
            "{model: o/x, params: {aws_secret_access_key: hunter2222}}",
            "{model: o/x, params: {note: sk-hunter2222hunter2222}}",
            "{model: o/x, params: {note: 'Bearer hunter2222'}}",
            "{model: o/x, api_key_env: sk-hunter2222hunter2222}",
            "{model: o/x, api_base: 'http://me:hunter2222@h/v1'}",
            "{model: o/x, api_base: 'https://h/v1?api-version=1&key=hunter2222'}",
            "{model: o/x, api_base: 'https://h/v1#access_token=hunter2222'}",
        ],
    )
    def test_inline(self, model: str) -> None:
        """A key that stands in a spec is refused with its place and the way out, and is not repeated in the message."""
        line = refused(f"models:\n  x: {model}\n")
        assert line.startswith("specs/ask.yaml:2: models.x.")
        assert "environment variable" in line
        assert "hunter2222" not in line

    @pytest.mark.parametrize(
        "text",
        [
            "models: {token: o/x}",
            "candidates: {secret: o/x}",
            "models: {x: {model: o/x, api_base: 'https://h/v1?api-version=2024'}}",
            "models: {x: {model: o/x, params: {max_completion: 5}}}",
            ONE + "transports: {mine: [{layer: json-field, key: command}]}",
        ],
    )
    def test_innocent(self, text: str) -> None:
        """Names and values that only remind of keys pass."""
        assert read(text)


class TestSeeds:
    @pytest.mark.parametrize(
        "value", ["hunter2-hunter2-hunter2", "1234567890123456", "[hunter2hunter2hu]", "{hunter2: hunter2}", "''"]
    )
    def test_in_the_place_of_a_name(self, value: str) -> None:
        """A seed that stands where its variable should be named is refused and not repeated."""
        line = refused(ONE + f"tasks: {{partition: both, heldout_seed_env: {value}}}")
        assert line.startswith("specs/ask.yaml:2: tasks.heldout_seed_env: must be the name of an environment variable")
        assert "hunter2" not in line
        assert "1234" not in line

    @pytest.mark.parametrize("value", ["hunter2-hunter2", ["hunter2"], 1234567890123456])
    def test_in_python(self, value: object) -> None:
        """pydantic's own message to who makes a spec in Python does not repeat it either."""
        for kind, asked in ((Spec, {"tasks": {"heldout_seed_env": value}}), (TasksSection, {"heldout_seed_env": value})):
            with pytest.raises(ValidationError) as caught:
                kind.model_validate(asked)
            assert "heldout_seed_env" in str(caught.value)
            assert "hunter2" not in str(caught.value)
            assert "1234" not in str(caught.value)

    def test_only_its_name_is_kept(self) -> None:
        """The resolved spec names the variable; another name is the same spec, another partition is not."""
        one, other, heldout = (
            read(ONE + f"tasks: {{partition: {partition}, heldout_seed_env: {name}}}")
            for partition, name in (("both", "SEED_A"), ("both", "SEED_B"), ("heldout", "SEED_A"))
        )
        assert one.resolved()["tasks"]["heldout_seed_env"] == "SEED_A"
        assert one.digest == other.digest
        assert one.digest != heldout.digest


class TestShipped:
    def test_schema_file(self) -> None:
        """The schema beside the specs is the one that the code has."""
        assert json.loads((DEPLOY / "spec.schema.json").read_text("utf-8")) == spec_schema()

    @pytest.mark.parametrize("path", sorted(DEPLOY.glob("*.yaml")), ids=lambda path: path.name)
    def test_specs(self, path: Path) -> None:
        """Every spec that ships can be read and resolved."""
        spec = load_spec(path.read_text("utf-8"), str(path))
        assert spec.name == path.stem
        assert spec.candidates_resolved()

    @pytest.mark.parametrize("path", sorted(DEPLOY.glob("*.yaml")), ids=lambda path: path.name)
    def test_schema_accepts(self, path: Path) -> None:
        """An editor that uses the schema marks nothing in the specs that ship, shorthands included."""
        Draft202012Validator.check_schema(spec_schema())
        Draft202012Validator(spec_schema()).validate(load_yaml(path.read_text("utf-8"), str(path)))  # pyright: ignore[reportUnknownMemberType]

    def test_schema_refuses(self) -> None:
        """The schema marks a field that does not exist."""
        assert not Draft202012Validator(spec_schema()).is_valid({"candidates": {"a": {"modell": "o/x"}}})

    def test_demo(self) -> None:
        """The demo asks for the three baselines, and for the adaptive one by tool calls, on one path and over all tasks."""
        spec = load_spec((DEPLOY / "demo.yaml").read_text("utf-8"), "deploy/demo.yaml")
        assert names(spec) == ["oracle", "naive", "adaptive", "adaptive by tool calls"]
        assert {candidate.transport for candidate in spec.candidates_resolved()} == {"nested-shell"}
        assert spec.models_without_prices() == ()
