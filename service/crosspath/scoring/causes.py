"""One cause per replay that is wrong, or that was told to be; the precedence is ``PRECEDENCE``, and nowhere else.

A replay shows several signs at once: a reply that was cut off has a syntax error, therefore exit status 2, therefore a missing
file. The cause is the earliest link of that chain that the stored facts prove. So the order follows the way of a reply:

1. ``undeliverable``, ``refusal``, ``empty``, ``contract_error``: it never (or not wholly) became commands; all else follows.
2. ``truncated``: the token limit cut the reply; what the rest of it did wrong is a consequence. Only if the state is wrong.
3. ``resource_limit``: a limit of memory, processes, disk, output or entries was hit. Before the timeout, because a command that
   starves often hangs, while a hanging one does not starve.
4. ``timeout``: our time limit ended a command, or the path told 124, timeout(1)'s status, because its own one did.
5. ``shell_syntax``: a shell said that it could not parse the text. Exit status 2 alone proves nothing (grep and ls use it), and
   so does bash's warning about an unfinished here-document: bash goes on with it, and what follows decides.
6. ``runtime_error``: ended by a signal (status 129 to 192, or negative as Python tells it), or by us without a limit in the
   facts. 128 and 255 are no signals: git and ssh use them.
7. ``tool_error``: a program told failure. A traceback counts here: an interpreter that reports an error is a tool that works.
8. ``extra_files`` before ``wrong_state``: a file under a wrong name is also missing under the right one, and the name tells more.
9. ``wrong_state``: all was told to be right, and the state is not.
10. ``tool_error`` again, for a path whose only trouble is what is left over: the fixture's own file, untouched, that should be
    gone. Something that had to remove or rename it did not, and told nobody.

No cause (None): the state is right and the path told success. An exit status that the task sets and the path replaced by 0 is
not in the vocabulary: such a replay does not pass, and has no cause.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from crosspath.types import Cause, CheckResult, DeliveryProblem, Limit

TIMEOUT_STATUS = 124
"""What timeout(1) and its kind tell for a command that they ended."""
_FIRST_SIGNAL, _LAST_SIGNAL = 129, 192


@dataclass(frozen=True)
class Signs:
    """What the facts of one replay show. ``exits``: failed exit statuses; None in it: killed, or none told."""

    state_ok: bool
    reported_ok: bool
    executed: bool = True
    problem: DeliveryProblem | None = None
    limits: tuple[Limit, ...] = ()
    timed_out: bool = False
    syntax_message: str = ""
    exits: tuple[int | None, ...] = ()
    failed: tuple[CheckResult, ...] = ()
    """Failed checks of the final state."""

    def fails(self, cause: Cause) -> bool:
        """Whether a failed check of the final state stands for this cause."""
        return any(check.cause == cause for check in self.failed)


@dataclass(frozen=True)
class Rule:
    """One line of the precedence."""

    cause: Cause
    applies: Callable[[Signs], bool]


def is_signal(status: int | None) -> bool:
    """Whether an exit status tells death by a signal: 128 + N, or -N."""
    return status is not None and (_FIRST_SIGNAL <= status <= _LAST_SIGNAL or status < 0)


PRECEDENCE: Sequence[Rule] = (
    Rule("undeliverable", lambda signs: signs.problem == "undeliverable"),
    Rule("refusal", lambda signs: signs.problem == "refusal"),
    Rule("empty", lambda signs: signs.problem == "empty"),
    Rule("contract_error", lambda signs: signs.problem == "contract_error"),
    Rule("truncated", lambda signs: signs.problem == "truncated" and not signs.state_ok),
    Rule("resource_limit", lambda signs: bool(signs.limits)),
    Rule("timeout", lambda signs: signs.timed_out or TIMEOUT_STATUS in signs.exits),
    Rule("shell_syntax", lambda signs: bool(signs.syntax_message)),
    Rule("runtime_error", lambda signs: any(map(is_signal, signs.exits)) or None in signs.exits),
    Rule("tool_error", lambda signs: bool(signs.exits)),
    Rule("extra_files", lambda signs: signs.fails("extra_files")),
    Rule("wrong_state", lambda signs: signs.fails("wrong_state")),
    Rule("tool_error", lambda signs: signs.fails("tool_error")),
    # Causes that only a user's own suite names, in the order of the links above.
    Rule("resource_limit", lambda signs: signs.fails("resource_limit")),
    Rule("timeout", lambda signs: signs.fails("timeout")),
    Rule("shell_syntax", lambda signs: signs.fails("shell_syntax")),
    Rule("runtime_error", lambda signs: signs.fails("runtime_error")),
    Rule("contract_error", lambda signs: signs.fails("contract_error")),
)


def cause_of(signs: Signs) -> Cause | None:
    """The first rule that applies; None only where the state is right and the path told success."""
    if signs.state_ok and signs.reported_ok:
        return None
    for rule in PRECEDENCE:
        if rule.applies(signs):
            return rule.cause
    return "runtime_error" if signs.state_ok else "wrong_state"
