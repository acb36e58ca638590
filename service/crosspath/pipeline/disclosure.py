"""Whether a model was told about the path that its replies run on, or about another one."""

from collections.abc import Mapping

from crosspath.errors import ConfigError
from crosspath.transports import find_path
from crosspath.types import Contract, PathSpec


def same_path(told: str, done: str, specs: Mapping[str, PathSpec]) -> bool:
    """Whether two names mean one path: the same layers with the same options, or the same harness.

    Decoders don't count (``json:nested-shell`` is ``nested-shell`` for replies of one shape): the contract discloses its shape
    anyhow. A name that is not known equals only itself.
    """
    if told == done:
        return True
    try:
        one, other = (find_path(name, specs) for name in (told, done))
    except ConfigError:
        return False
    return _carrier(one) == _carrier(other)


def _carrier(spec: PathSpec) -> object:
    return spec.external.identity if spec.external else [layer.model_dump(mode="json") for layer in spec.layers]


def mismatch(candidate: str, contract: Contract, transport: str) -> str:
    """The sentence for a candidate whose contract discloses another path."""
    return (
        f"{candidate}: contract {contract.name} tells about {contract.discloses}, but the replies run on {transport};"
        " what telling changes is no compensation for this path."
    )
