"""A path, ready to use: clean-up, decoder, (encoding,) chain or harness.

Delivery is the pure half of a replay. It never raises for what a reply holds: problems are data, and the steps that lead to each
command are kept as hops.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any

import yaml

from crosspath.errors import ConfigError
from crosspath.transports.abstaining import abstention, declined
from crosspath.transports.chain import Chain, Watch, build_chain, hop
from crosspath.transports.cleanup import clean
from crosspath.transports.commands import run_harness, write_file
from crosspath.transports.decoders import Defect, FileWrite, Part, ShellText, decode
from crosspath.transports.kinds import effective_options
from crosspath.transports.layers import UndeliverableError
from crosspath.transports.presets import preset, preset_names
from crosspath.transports.problems import conclude
from crosspath.types import Action, Cleanup, Contract, Delivery, External, Hop, PathSpec, Reply, Shape, digest

DELIVERY_VERSION = 3
"""Part of every path's digest: raised when the same reply would be delivered differently by the same layers."""

_NAMES = ("name", "summary", "source", "survivable", "obstacle", "imitated")
"""Facts about a path that change no delivery."""


@dataclass(frozen=True)
class Path:
    """How replies under one contract become commands."""

    spec: PathSpec
    carrier: Chain | External
    contract: Contract | None = None
    cleanup: Cleanup = "none"
    tool_chains: Mapping[str, Chain] = field(default_factory=lambda: MappingProxyType({}))
    """Tool name -> a chain of its own instead of the path's."""

    @property
    def name(self) -> str:
        return self.spec.name

    @property
    def shape(self) -> Shape:
        """The shape of the replies that come."""
        return self.contract.shape if self.contract else "text"

    @property
    def survivable(self) -> bool:
        """Whether every shell text has an encoding that makes it do here what it does under ``bash -c``."""
        chains = (self.carrier, *self.tool_chains.values())
        return all(isinstance(chain, Chain) and chain.survivable for chain in chains)

    @property
    def fits(self) -> str | None:
        """None, or the reason why replies of this contract can't travel here (the cell is not applicable)."""
        if self.spec.accepts in ("any", "text", self.shape):
            return None
        told = f"contract {self.contract.name}" if self.contract else "no contract"
        return f"path {self.name} reads replies of shape {self.spec.accepts}, and {told} asks for {self.shape}"

    @cached_property
    def digest(self) -> str:
        """SHA-256 over all that changes a delivery: clean-up, decoder, layers with options and versions, or the harness."""
        facts = {key: value for key, value in self._facts().items() if key not in _NAMES}
        return digest(facts | {"external": self.carrier.identity} if isinstance(self.carrier, External) else facts)

    def describe(self) -> str:
        """The whole chain as YAML: what is done to a reply, in order."""
        return yaml.safe_dump({**self._facts(), "digest": self.digest}, sort_keys=False, allow_unicode=True, width=120)

    def encode(self, command_text: str) -> str:
        """A text that does on this path precisely what ``command_text`` does under ``bash -c``.

        Raises:
            ValueError: the path can't be survived, or ``bash -c`` itself could not carry the text (NUL, too long).
        """
        if isinstance(self.carrier, External):
            raise ValueError("a harness of one's own has no known encoding")
        return self.carrier.encode(command_text)

    @property
    def obstacle(self) -> str | None:
        """Why it can't be survived, in words; None: it can."""
        chains = [self.carrier, *self.tool_chains.values()]
        if any(isinstance(chain, External) for chain in chains):
            return "a harness of one's own is a black box"
        return next((chain.obstacle for chain in chains if isinstance(chain, Chain) and chain.obstacle), None)

    @property
    def imitated(self) -> tuple[str, ...]:
        """What of this path is imitated rather than real."""
        own = (self.spec.imitates,) if self.spec.imitates else ()
        return own if isinstance(self.carrier, External) else (*own, *self.carrier.imitated)

    def deliver(self, reply: Reply, *, encoded: bool = False, watch: Watch | None = None) -> Delivery:
        """The commands of a reply and how they came about. ``encoded``: the control, each shell text is encoded first.

        ``watch``: chains leave what happens inside the sandbox as the report of each command (see ``watching``).

        Raises:
            ValueError: the path does not fit the contract, or an encoding was asked of a path that has none.
        """
        if self.fits is not None:
            raise ValueError(self.fits)
        if encoded and not self.survivable:
            raise ValueError(f"path {self.name} has no encoding that survives it")
        cleaned = reply if reply.text is None else reply.model_copy(update={"text": clean(reply.text, self.cleanup)})
        words = abstention(cleaned, self.contract)
        if isinstance(self.carrier, External):
            return _marked(conclude(cleaned, [Action(command=run_harness(self.carrier, cleaned))], []), words)
        if words is not None:
            return _marked(Delivery(), words)
        outcomes = [
            self._carry(part, self._hops_before(reply, part), encoded, watch)
            for part in decode(cleaned, self.shape, self.contract)
        ]
        actions = [outcome for outcome in outcomes if isinstance(outcome, Action)]
        return conclude(cleaned, actions, [outcome for outcome in outcomes if isinstance(outcome, Defect)])

    def _carry(self, part: Part, before: tuple[Hop, ...], encoded: bool, watch: Watch | None) -> Action | Defect:
        try:
            if isinstance(part, FileWrite):
                return Action(call_id=part.call_id, command=write_file(part.path, part.content), hops=before)
            return self._carry_text(part, before, encoded, watch) if isinstance(part, ShellText) else part
        except UndeliverableError as error:
            return Defect("undeliverable", str(error))

    def _carry_text(self, part: ShellText, before: tuple[Hop, ...], encoded: bool, watch: Watch | None) -> Action:
        chain = self._chain(part.tool)
        text = chain.encode(part.text) if encoded else part.text
        command, hops = chain.carry(text, watch=watch)
        encoding = (hop("encode", text),) if encoded else ()
        return Action(call_id=part.call_id, command=command, hops=(*before, *encoding, *hops))

    def _chain(self, tool: str | None) -> Chain:
        own = self.tool_chains.get(tool or "")
        if own is not None:
            return own
        if isinstance(self.carrier, External):
            raise TypeError("a harness has no chain")
        return self.carrier

    def _hops_before(self, reply: Reply, part: Part) -> tuple[Hop, ...]:
        """What came, what the clean-up left of it, and what the decoder took out of that."""
        if isinstance(part, Defect):
            return ()
        taken = part.content if isinstance(part, FileWrite) else part.text
        if self.shape == "tools":
            return hop("reply", part.received), hop("decode:tools", taken)
        hops = [hop("reply", reply.text or "")]
        if self.cleanup != "none":
            hops.append(hop(f"clean-up:{self.cleanup}", clean(reply.text or "", self.cleanup)))
        if self.shape == "json":
            hops.append(hop("decode:json", taken))
        return tuple(hops)

    def _facts(self) -> dict[str, Any]:
        facts: dict[str, Any] = {
            "name": self.name,
            "summary": self.spec.summary,
            "source": self.spec.source,
            "version": self.spec.version,
            "delivery": DELIVERY_VERSION,
            "survivable": self.survivable,
            **({"obstacle": self.obstacle} if self.obstacle else {}),
            "imitated": list(self.imitated),
            "clean_up": self.cleanup,
        }
        if self.contract is not None and self.contract.abstain is not None:
            facts["abstain"] = {self.shape: self.contract.abstain}
        if isinstance(self.carrier, External):
            return {**facts, "external": self.carrier.model_dump(mode="json")}
        return {**facts, "decoder": self._decoder_facts(), "layers": _layer_facts(self.spec, self.carrier)}

    def _decoder_facts(self) -> dict[str, Any]:
        if self.contract is None or self.shape == "text":
            return {"shape": "text"}
        if self.shape == "json":
            return {"shape": "json", "field": self.contract.field}
        return {"shape": "tools", "tools": {tool.name: self._tool_facts(tool.name) for tool in self.contract.tools}}

    def _tool_facts(self, name: str) -> dict[str, Any]:
        tool = next(tool for tool in (self.contract.tools if self.contract else ()) if tool.name == name)
        facts = tool.model_dump(mode="json", include={"parameters", "argument", "write", "path"}, exclude_none=True)
        own = self.tool_chains.get(name)
        return {**facts, "layers": [[layer.name, layer.version] for layer in own.layers]} if own else facts


def _marked(delivery: Delivery, words: str | None) -> Delivery:
    """The delivery of a reply that declines in its contract's form with these words; as it is for any other (None)."""
    if words is None:
        return delivery
    return delivery.model_copy(update={"problem": "refusal", "reason": declined(words), "abstained": True})


def assemble(
    spec: PathSpec,
    contract: Contract | None = None,
    cleanup: Cleanup = "none",
    find: Callable[[str], PathSpec] = preset,
) -> Path:
    """The path that ``spec`` describes, for replies under ``contract`` (None: plain text). ``find`` resolves the paths of tools.

    Raises:
        ConfigError: an unknown layer, option or path, or a tool that names an external path.
    """
    if spec.external is not None:
        return Path(spec, spec.external, contract, cleanup)
    chains = {tool.name: _tool_chain(tool.path, find) for tool in (contract.tools if contract else ()) if tool.path is not None}
    return Path(spec, build_chain(spec.layers, f"path {spec.name}"), contract, cleanup, MappingProxyType(chains))


def survivable_presets() -> tuple[str, ...]:
    """The shipped paths for shell text that every text has an encoding for."""
    specs = map(preset, preset_names())
    return tuple(spec.name for spec in specs if spec.accepts == "text" and assemble(spec).survivable)


def _tool_chain(name: str, find: Callable[[str], PathSpec]) -> Chain:
    spec = find(name)
    if spec.external is not None or spec.accepts != "text":
        raise ConfigError(f"{name!r} reads whole replies; a tool needs a path for shell text", field="tools")
    return build_chain(spec.layers, f"path {name}")


def _layer_facts(spec: PathSpec, chain: Chain) -> list[dict[str, Any]]:
    return [
        {"layer": layer.name, "version": layer.version, "options": effective_options(asked), "does": layer.sentence}
        for asked, layer in zip(spec.layers, chain.layers, strict=True)
    ]
