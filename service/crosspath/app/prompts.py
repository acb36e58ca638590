"""``crosspath prompts``, ``contracts`` and ``styles``: what models are told, word for word."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from crosspath.app.resolve import Own, contracts_named, errors_name, planned, read_spec
from crosspath.pipeline.answers import provider, recorded_file
from crosspath.pipeline.telling import told_contract, told_paths
from crosspath.types import WORDINGS, Contract, Request, Telling


def prompts(spec: Path) -> list[dict[str, Any]]:
    """One mapping per request, in the order of the plan, with what a recorded reply needs beside its ``reply``.

    Nothing is asked, and recordings need not exist yet. Candidates that a recording can't tell apart share one line.

    Raises:
        ConfigError: the spec is wrong.
    """
    with errors_name(str(spec)):
        plan = planned(*read_spec(spec))
    seen: dict[tuple[object, ...], dict[str, Any]] = {}
    for request in plan.requests:
        asked = _prompt(request)
        seen.setdefault(tuple(asked[field] for field in ("model", "task", "contract", "request_style", "trial")), asked)
    return list(seen.values())


def _prompt(request: Request) -> dict[str, Any]:
    return {
        "model": _recorded_name(request.model),
        "task": request.trial.task,
        "contract": request.contract,
        "request_style": request.request_style,
        "trial": request.trial.index,
        "messages": list(request.messages),
        "tools": list(request.tools),
    }


def _recorded_name(model: str) -> str:
    """The name that a line of a recording gives: ``b`` for ``recorded/a.jsonl#b``, the file's name where none is asked for."""
    if provider(model) != "recorded":
        return model
    file, name = recorded_file(model)
    return name or Path(file).stem


def prompts_text(found: list[dict[str, Any]]) -> str:
    """For a person: each request with its messages, and the names of its tools."""
    return "\n".join(line for prompt in found for line in _prompt_lines(prompt))


def _prompt_lines(prompt: dict[str, Any]) -> Iterator[str]:
    style = "" if prompt["request_style"] == "plain" else f" · asked {prompt['request_style']}"
    yield f"== {prompt['model']} · {prompt['task']} · told {prompt['contract']}{style} · trial {prompt['trial']}"
    for message in prompt["messages"]:
        yield f"{message['role']}:"
        yield from (f"  | {line}" for line in message["content"].removesuffix("\n").split("\n"))
    if prompt["tools"]:
        yield f"tools: {', '.join(tool['function']['name'] for tool in prompt['tools'])}"
    yield ""


def contract_rows(own: Own) -> list[dict[str, Any]]:
    """One mapping per contract that ships or is a spec's own, then one per path about which contracts are generated.

    ``wordings`` names a generated contract's wordings, itself first; it is empty for one that was written by hand.

    Raises:
        ConfigError: a contract or path of the spec is wrong.
    """
    known, specs = contracts_named(own.contracts, own.base), own.path_specs()
    rows = [_contract_row(contract, ()) for contract in known.values()]
    for path in told_paths(specs):
        names = [Telling(path=path, wording=number).name for number in range(1, WORDINGS + 1)]
        rows.append(_contract_row(told_contract(names[0], known, specs), names))
    return rows


def _contract_row(contract: Contract, wordings: Sequence[str]) -> dict[str, Any]:
    return {
        **contract.model_dump(mode="json", include={"name", "shape", "discloses", "reference"}),
        "tools": ", ".join(tool.name for tool in contract.tools),
        "wordings": list(wordings),
    }


def contract_document(name: str, own: Own) -> dict[str, Any]:
    """A contract by name or file, with what it tells, offers, demands and discloses.

    Raises:
        ConfigError: there is none.
    """
    contract = own.contract(name)
    return contract.model_dump(mode="json") | {"digest": contract.digest}


def _form(contract: Contract) -> str:
    if contract.abstain is None:
        return "no form: what can't be done can't be declined rightly"
    return f"the only field {contract.abstain!r}" if contract.shape == "json" else f"a text that begins with {contract.abstain!r}"


def contract_text(document: dict[str, Any]) -> str:
    """For a person: a head, the tools, and the text word for word."""
    contract = Contract.model_validate({key: value for key, value in document.items() if key != "digest"})
    lines = [
        f"{contract.name}  version {contract.version}",
        f"reply shape  {contract.shape}" + (f" (shell text in the field {contract.field!r})" if contract.shape == "json" else ""),
        f"declining    {_form(contract)}",
        f"discloses    {contract.discloses}",
        f"reference    {contract.reference}",
    ]
    for tool in contract.tools:
        how = f"its {tool.argument!r} is shell text" if tool.argument else f"writes a file: {' and '.join(tool.write or ())}"
        lines.append(f"tool         {tool.name}: {how}" + (f", on the path {tool.path}" if tool.path else ""))
    return "\n".join([*lines, "", contract.text.rstrip("\n")])


def style_document(name: str, own: Own) -> dict[str, Any]:
    """A request style by name or file, with its words.

    Raises:
        ConfigError: there is none.
    """
    style = own.style(name)
    return style.model_dump(mode="json") | {"digest": style.digest}


def style_text(document: dict[str, Any]) -> str:
    """For a person: a head, and the words around the place of the instruction."""
    lines = [f"{document['name']}  version {document['version']}"]
    lines += [document["summary"]] if document["summary"] else []
    lines += [f"pair  {document['pair']}"] if document["pair"] else []
    return "\n".join([*lines, "", document["text"]])
