"""Chains whose layers double the text: bounded in layers and in characters."""

import pytest

from crosspath.errors import ConfigError
from crosspath.transports import assemble, parse_path
from crosspath.transports import chain as chains
from crosspath.types import JSON, Reply

DOUBLING: JSON = {"layer": "double-quoted-shell", "escape": True}


def test_too_many_layers_are_refused() -> None:
    """Each layer can double the text, so a chain has at most 16; the message says so in one line."""
    with pytest.raises(ConfigError, match=r"transports\.x: layers: 17 layers; a chain has at most 16") as refused:
        parse_path("x", [*[DOUBLING] * 16, "shell"], "transports.x")
    assert "\n" not in str(refused.value)
    assert parse_path("x", [*[DOUBLING] * 15, "shell"], "transports.x").layers


def test_a_text_that_grows_too_long_is_undeliverable(monkeypatch: pytest.MonkeyPatch) -> None:
    """What would fill the memory on its way is a problem of this reply's delivery, found at the first layer above the bound."""
    monkeypatch.setattr(chains, "MAX_TEXT_CHARACTERS", chains.MAX_TEXT_CHARACTERS // 256)  # the same in a moment
    path = assemble(parse_path("x", [*[DOUBLING] * 15, "script-file"], "transports.x"))
    delivery = path.deliver(Reply(text="\\" * (chains.MAX_TEXT_CHARACTERS // 8)))
    assert (delivery.problem, delivery.actions) == ("undeliverable", ())
    assert "double-quoted-shell makes a text of" in delivery.reason
    assert delivery.reason.endswith(f"at most {chains.MAX_TEXT_CHARACTERS} are carried on")
