"""Which task a logged call belongs to, told by the text that was sent."""

from collections.abc import Sequence

from crosspath.logged.calls import LoggedCall
from crosspath.logged.messages import texts_of
from crosspath.types import Task


class Instructions:
    """The instructions of tasks, to be looked for in the messages of a call."""

    def __init__(self, tasks: Sequence[Task]) -> None:
        self._tasks: dict[str, list[str]] = {}
        for task in tasks:
            self._tasks.setdefault(_instruction(task), []).append(task.id)
        self._tasks.pop("", None)

    def tasks_of(self, call: LoggedCall) -> list[str]:
        """Ids of the tasks whose instruction is a message of the user's, or stands in one word for word; the longest only."""
        said = [text.strip() for text in texts_of(call.messages, "user")]
        exact = [task for text in said for task in self._tasks.get(text, ())]
        if exact:
            return list(dict.fromkeys(exact))
        inside = [instruction for instruction in self._tasks if any(instruction in text for text in said)]
        longest = [one for one in inside if not any(one != other and one in other for other in inside)]
        return [task for instruction in longest for task in self._tasks[instruction]]


def _instruction(task: Task) -> str:
    said = [message.content for message in task.messages if message.role == "user"]
    return (task.instruction or (said[-1] if said else "")).strip()
