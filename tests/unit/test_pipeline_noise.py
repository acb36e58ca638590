"""A noise probe: what is sent when, what is kept of it, and how it goes on."""

import asyncio
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from crosspath.errors import StoreError
from crosspath.pipeline.asking import Asker, Retries
from crosspath.pipeline.budget import Budget, Limits
from crosspath.pipeline.noise import Prober, last_rows, phases, probe_digest, settled_places
from crosspath.store.noise_file import DIRECTORY, NoiseFile
from crosspath.types import Attempt, Fault, Reply, Request, TrialKey, Usage
from crosspath.types.noise import NoiseRow

REQUEST = Request(
    key="k", trial=TrialKey(generation="g", task="t", index=0), contract="raw", endpoint="http://x", model="openai/m",
    messages=({"role": "user", "content": "Do."},), params={"max_tokens": 5}, timeout_s=1,
)  # fmt: skip
UNBOUNDED = Limits()
Answer = Callable[[int], Reply | Fault]
"""Number of the request -> what comes."""


class Endpoint:
    """Answers after a few turns of the event loop, and sees how many wait."""

    def __init__(self, answer: Answer = lambda _: Reply(text="x", sent_body={"a": 1}, raw_response="raw")) -> None:
        self._answer = answer
        self._waiting = 0
        self.seen: list[int] = []
        """For each request: how many were waiting, itself included."""

    async def send(self, _: Request) -> Reply | Fault:
        """One attempt."""
        self._waiting += 1
        self.seen.append(self._waiting)
        number = len(self.seen)
        for _turn in range(5):
            await asyncio.sleep(0)
        self._waiting -= 1
        return self._answer(number)


def probed(
    endpoint: Endpoint, repeats: int, at_once: int, known: list[NoiseRow] | None = None, limits: Limits = UNBOUNDED
) -> tuple[list[NoiseRow], str | None]:
    """One start of a probe: its rows, and the limit that ended it."""
    rows = list(known or [])

    async def work() -> str | None:
        retries = Retries(max_attempts=2, max_wait_s=0)
        prober = Prober(Asker(endpoint.send, Budget(limits), 1 + bool(known), retries=retries), rows.append)
        await prober.run([REQUEST], repeats, at_once, settled_places(rows))
        return prober.limit

    return rows, asyncio.run(work())


def test_alone_means_one_at_a_time_and_together_as_many_as_asked() -> None:
    """Half of the lonely ones come first and half last; in between the load is reached and never exceeded."""
    endpoint = Endpoint()
    rows, _ = probed(endpoint, 9, 4)
    assert endpoint.seen[:5] == [1] * 5
    assert max(endpoint.seen[5:14]) == 4
    assert endpoint.seen[14:] == [1] * 4
    ends = [row for row in rows if row.attempt.ended_at is not None]
    assert [row.load for row in ends] == ["alone"] * 5 + ["together"] * 9 + ["alone"] * 4
    assert max(row.in_flight for row in ends) == 4
    assert {row.in_flight for row in ends if row.load == "alone"} == {1}
    assert sum(map(len, (phase.repeats for phase in phases(9, 4)))) == 18


def test_a_row_is_kept_before_its_request_is_sent() -> None:
    """Each request has two rows, without bodies; the digest of what was sent stays."""
    rows, _ = probed(Endpoint(), 2, 2)
    assert [row.attempt.ended_at is None for row in rows[:4]] == [True, False, True, True]
    assert {row.body for row in rows if row.reply} != {None}
    assert all(row.reply.raw_response is None and row.reply.sent_body is None for row in rows if row.reply)
    assert len({row.attempt.number for row in rows}) == 4


def test_a_fault_is_sent_again_and_stays_apart() -> None:
    """A server error is retried as elsewhere; the repeat's last row holds its reply, and the failed attempt its own."""
    broken = Fault(boundary="model", type="server_error", message="500", retryable=True)
    rows, _ = probed(Endpoint(lambda number: broken if number == 1 else Reply(text="x")), 2, 2)
    last = last_rows(rows)
    assert len(last) == 4
    assert all(row.reply for row in last)
    assert [row.attempt.number for row in rows if row.attempt.fault] == [1]


def test_a_limit_ends_it_and_a_higher_one_goes_on() -> None:
    """At ``max_requests`` nothing more is sent; with more room only what is missing is asked for."""
    endpoint = Endpoint()
    rows, limit = probed(endpoint, 3, 2, limits=Limits(max_requests=4))
    assert (len(endpoint.seen), limit) == (4, "limit max_requests reached")
    again, limit = probed(endpoint, 3, 2, known=rows)
    assert (len(endpoint.seen), limit) == (6, None)
    assert len(settled_places(again)) == 6


def test_more_repeats_add_to_those_that_are_there() -> None:
    """The same probe with more repeats asks for the difference."""
    endpoint = Endpoint()
    rows, _ = probed(endpoint, 2, 2)
    more, _ = probed(endpoint, 4, 2, known=rows)
    assert len(endpoint.seen) == 8
    assert len(last_rows(more)) == 8
    assert probe_digest([REQUEST], 2) != probe_digest([REQUEST], 3)


def row(number: int, *, ended: bool = True) -> NoiseRow:
    """One request's row."""
    attempt = Attempt(request_key="k", number=number, session=1, started_at=1.0, ended_at=2.0 if ended else None)
    if ended:
        attempt = attempt.model_copy(update={"usage": Usage(prompt_tokens=1, completion_tokens=1)})
    reply = Reply(text="\ud800") if ended else None  # a lone surrogate, as a model may send it
    return NoiseRow(generation="g", task="t", load="alone", repeat=number, in_flight=1, attempt=attempt, reply=reply)


def test_an_unfinished_probe_goes_on_and_a_finished_one_does_not(tmp_path: Path) -> None:
    """What an earlier start kept is there again, of each request its last line; after the end another file begins."""
    first = NoiseFile.open(tmp_path, "name", "digest", 2)
    for one in (row(0, ended=False), row(0), row(1, ended=False)):
        first.append(one)
    first.close()
    second = NoiseFile.open(tmp_path, "name", "digest", 2)
    assert second.path == first.path
    assert second.known == (row(0), row(1, ended=False))
    second.finish()
    second.close()
    third = NoiseFile.open(tmp_path, "name", "digest", 2)
    assert third.path != first.path
    assert third.known == ()
    third.close()
    other = NoiseFile.open(tmp_path, "name", "another", 2)
    assert other.path not in (first.path, third.path)
    other.close()


@pytest.mark.parametrize("cut", [1, 5, 200])
def test_a_line_that_was_cut_off_is_passed_over(tmp_path: Path, cut: int) -> None:
    """Killed in the middle of a line: what stands before it is kept, and the next line is whole again
    (https://github.com/UKGovernmentBEIS/inspect_ai/issues/2949).
    """
    file = NoiseFile.open(tmp_path, "name", "digest", 2)
    for one in (row(0), row(1, ended=False), row(1)):
        file.append(one)
    file.close()
    os.truncate(file.path, file.path.stat().st_size - cut)
    again = NoiseFile.open(tmp_path, "name", "digest", 2)
    known = (row(0), row(1)) if cut == 1 else (row(0), row(1, ended=False))
    assert again.known == known
    again.append(row(2))
    again.close()
    last = NoiseFile.open(tmp_path, "name", "digest", 2)
    assert last.known == (*known, row(2))
    last.close()


def test_two_processes_do_not_mix(tmp_path: Path) -> None:
    """Whoever comes second to the same probe is told so."""
    first = NoiseFile.open(tmp_path, "name", "digest", 2)
    with pytest.raises(StoreError, match="another process is at this probe"):
        NoiseFile.open(tmp_path, "name", "digest", 2)
    first.close()


def test_rows_of_another_version_are_not_taken_for_none(tmp_path: Path) -> None:
    """A whole line that is no row is no torn one: it may have cost something."""
    file = NoiseFile.open(tmp_path, "name", "digest", 2)
    file.close()
    with file.path.open("a") as stream:
        stream.write(json.dumps({"of": "the future"}) + "\n")
    with pytest.raises(StoreError, match="another version"):
        NoiseFile.open(tmp_path, "name", "digest", 2)


def test_a_foreign_file_beside_them_is_left_alone(tmp_path: Path) -> None:
    """Other lines, an empty file and garbage are no probes."""
    directory = tmp_path / DIRECTORY
    directory.mkdir()
    for name, text in (("a", ""), ("b", "[1]\n"), ("c", "\x00\xff"), ("d", '{"id": 1}\n')):
        (directory / f"{name}.jsonl").write_text(text)
    file = NoiseFile.open(tmp_path, "name", "digest", 2)
    assert file.known == ()
    file.close()


def test_a_place_that_can_t_be_written_is_said(tmp_path: Path) -> None:
    """A file in place of the directory: one line with its name."""
    (tmp_path / DIRECTORY).write_text("")
    with pytest.raises(StoreError, match=r"noise can't be created"):
        NoiseFile.open(tmp_path, "name", "digest", 2)
