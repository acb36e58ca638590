"""The battery of ``transports diagnose`` as a property: on each path that can be survived, encoded probes do what raw ones do."""

from collections.abc import Iterator

import pytest

from crosspath.app.probing import Bench, Shot, bench
from crosspath.app.resolve import Own
from crosspath.spec import Spec
from crosspath.transports import assemble, preset, survivable_presets
from crosspath.transports.battery import CONTROLS, battery, hard_probes
from crosspath.transports.outcomes import Outcome, deviation
from crosspath.transports.probes import Probe

SHAPE = {"json": "json", "tool-call": "tool-call"}
"""Paths for replies of one shape -> a contract of that shape."""
SHARE = 12
"""Each path gets every twelfth of the shapes, another share each, so that all together get all of them more than once."""

SURVIVABLE = (*survivable_presets(), *SHAPE)
PROBES = battery()
CHARACTERS = Probe("all characters", "characters", "all of them", "\n".join(probe.command for probe in PROBES if probe.units))
SHAPES = tuple(probe for probe in (*CONTROLS, *PROBES) if not probe.units and not probe.settle_s)


@pytest.fixture(scope="module")
def benches() -> Iterator[dict[str, Bench]]:
    """A bench per contract, on one sandbox."""
    with bench(Spec(), Own().contract("raw"), lambda *_: None) as opened:
        contracts = {"raw", *SHAPE.values()}
        yield {name: Bench(opened.executor, Own().contract(name), opened.notify, opened.workers) for name in contracts}


@pytest.fixture(scope="module")
def references(benches: dict[str, Bench]) -> dict[str, Outcome]:
    raw = assemble(preset("raw"))
    probes = (CHARACTERS, hard_probes()[0], *SHAPES)
    outcomes = benches["raw"].outcomes([Shot(probe, raw) for probe in probes], "raw")
    return {probe.name: found for probe, found in zip(probes, outcomes, strict=True)}


@pytest.mark.parametrize("name", SURVIVABLE)
def test_the_battery_survives_when_encoded(name: str, benches: dict[str, Bench], references: dict[str, Outcome]) -> None:
    """Every character in every place, as one text, and a share of the shapes leave and tell what they do under ``bash -c``."""
    opened = benches[SHAPE.get(name, "raw")]
    path = assemble(preset(name), opened.contract)
    share = SURVIVABLE.index(name) % SHARE
    probes = (CHARACTERS, hard_probes()[0], *SHAPES[share::SHARE])
    outcomes = opened.outcomes([Shot(probe, path, encoded=True) for probe in probes], name)
    usual_s = min(found.duration_s for found in outcomes)
    pairs = zip(probes, outcomes, strict=True)
    found = [deviation(probe, references[probe.name], here, usual_s=usual_s) for probe, here in pairs]
    assert [(one.probe.name, one.harm, one.here) for one in found if one] == []


def test_raw_leaves_what_the_battery_is_made_to_leave(references: dict[str, Outcome]) -> None:
    """Under ``bash -c`` each character arrives in its place, no shape leaves nothing, and only two are meant to fail."""
    expected = {"a" + "m".join(probe.units) + "z" for probe in PROBES if probe.units}
    assert {name.replace("\\\\", "\\") for name in references[CHARACTERS.name].files} == expected
    assert [name for name, found in references.items() if not found.files] == []
    failing = [name for name, found in references.items() if found.told != 0]
    assert failing == ["report: `exit 3` at the end", "report: a last command that ends with 3"]
