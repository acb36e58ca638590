"""A model that says what the test told it to."""

from collections.abc import Callable, Mapping, Sequence

from crosspath.errors import ModelError
from crosspath.types import Reply, Request

Turn = Reply | ModelError
Script = Mapping[str, Turn | Sequence[Turn]] | Callable[[Request], Turn]


class ScriptedModel:
    """Implements ``ports.Model`` with scripted replies and errors.

    A mapping is searched by request key, then by task id, then by ``"*"``. A sequence gives one turn per attempt, the last one
    from then on. A function is asked each time. ``requests`` keeps what was asked, in order.
    """

    def __init__(self, script: Script) -> None:
        self._script = script
        self._asked: dict[str, int] = {}
        self.requests: list[Request] = []

    async def generate(self, request: Request) -> Reply:
        """The next scripted turn for ``request``.

        Raises:
            ModelError: the scripted one, or ``not_recorded`` where the script has nothing.
        """
        self.requests.append(request)
        turn = self._script(request) if callable(self._script) else self._look_up(self._script, request)
        if isinstance(turn, ModelError):
            raise turn
        return turn

    def _look_up(self, script: Mapping[str, Turn | Sequence[Turn]], request: Request) -> Turn:
        found = next((script[name] for name in (request.key, request.trial.task, "*") if name in script), None)
        if found is None:
            return ModelError(f"nothing scripted for {request.trial.task}", type_="not_recorded")
        if isinstance(found, (Reply, ModelError)):
            return found
        number = self._asked.get(request.key, 0)
        self._asked[request.key] = number + 1
        return found[min(number, len(found) - 1)]
