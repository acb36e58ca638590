"""Generated contracts: from a path, by the words of its layers, to the contract that tells about it."""

from collections.abc import Iterable, Mapping

from crosspath.contracts import ToldStep, tell
from crosspath.errors import ConfigError
from crosspath.transports import Path, assemble, find_path, preset
from crosspath.transports.layers import Layer, Step
from crosspath.types import PLAIN_CONTRACTS, TELL, WORDINGS, Contract, External, PathSpec, Telling, is_reserved

_PLACE = "<text>"
_PROBES = ("a'b\"c\\$d`e`!", "  two\n\n\tlines \r\n", "\\", "é{{x}}</x>%s&amp;")
"""What a layer with a form leaves as it is."""
LONGEST_FORM = 300
"""Characters; what a longer form says, the layer's sentence says shorter."""


def told_contract(name: str, plain: Mapping[str, Contract], own: Mapping[str, PathSpec]) -> Contract:
    """The contract of that name, ``tell:PATH`` or ``tell:PATH#2``.

    Args:
        name: a name that is reserved for generated contracts.
        plain: contracts by name, the plain ones that ship among them.
        own: a user's own paths by name; presets need not be among them.

    Raises:
        ConfigError: no such path or wording, nothing to tell, or a path that does not say what it does.
    """
    telling = Telling.named(name)
    if telling is None:
        numbers = ", ".join(f"#{number}" for number in range(2, WORDINGS + 1))
        raise ConfigError(f"{name!r} is no contract: write {TELL}:PATH, and {numbers} after it for another wording")
    spec = find_path(telling.path, own)
    path = assemble(spec)
    if isinstance(path.carrier, External):
        raise ConfigError(
            f"path {telling.path!r} is a harness of one's own, and no layer says what it does; write a contract that discloses it"
        )
    shape = "text" if spec.accepts in ("text", "any") else spec.accepts
    bare = find_path(telling.path.rpartition(":")[2], own).name
    return tell(telling, bare, plain[PLAIN_CONTRACTS[shape]], *_steps(path))


def told_paths(own: Mapping[str, PathSpec]) -> tuple[str, ...]:
    """Names of the paths that can be survived and about which there is something to tell, those of ``own`` in their order."""
    return tuple(name for name, spec in own.items() if _has_words(assemble(spec)))


def _has_words(path: Path) -> bool:
    return path.survivable and _steps(path) != ([], None)


def _steps(path: Path) -> tuple[list[ToldStep], ToldStep | None]:
    """What embeds the text, and what executes it where that is not plain ``bash -c``."""
    *before, last = _layers(path)
    [plain] = _layers(assemble(preset("raw")))
    return [_step(layer) for layer in before], None if last.sentence == plain.sentence else ToldStep(last.sentence)


def _layers(path: Path) -> tuple[Layer, ...]:
    if isinstance(path.carrier, External):
        raise TypeError("a harness has no layers")
    return path.carrier.layers


def _step(layer: Layer) -> ToldStep:
    return ToldStep(layer.sentence, _form(layer))


def _form(layer: Layer) -> str:
    """What the layer literally places a text in; empty where it changes the text, or does more."""
    apply = layer.apply if isinstance(layer, Step) else None
    if apply is None:
        return ""
    made = apply(_PLACE)
    literal = made.count(_PLACE) == 1 and all(apply(text) == made.replace(_PLACE, text) for text in _PROBES)
    form = layer.form or made
    shows = form.count(_PLACE) == 1 and form != _PLACE and form.replace("\n", "").isprintable()
    return form if literal and shows and len(form) <= LONGEST_FORM else ""


def with_told(
    known: Mapping[str, Contract], asked: Iterable[tuple[str, str]], own: Mapping[str, PathSpec]
) -> dict[str, Contract]:
    """``known`` and the generated contracts among those that are asked for.

    Args:
        known: contracts by name.
        asked: names of contracts, each with the place in the spec that asks for it.
        own: paths by name.

    Raises:
        ConfigError: as :func:`told_contract`, naming the place.
    """
    found = dict(known)
    for name, place in asked:
        if is_reserved(name) and name not in found:
            try:
                found[name] = told_contract(name, known, own)
            except ConfigError as error:
                raise ConfigError(error.problem, field=place) from None
    return found
