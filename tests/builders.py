"""Small, realistic facts and their judgement, for tests that need a whole evaluation without running one.

Two candidates (``oracle`` survives nothing, ``adaptive`` encodes), three tasks of two families, one trial each by default. The
numbers are consistent: every score belongs to a replay, every replay to a trial, every cell counts its scores.
"""

from crosspath.types import (
    Action,
    Attempt,
    Candidate,
    Cell,
    Command,
    Comparison,
    Control,
    Decomposition,
    Delivery,
    Effect,
    Estimate,
    EvaluationHead,
    ExecResult,
    Execution,
    Facts,
    Fault,
    FileEntry,
    FinalState,
    Generation,
    Hop,
    Judgement,
    Lock,
    ModelSpec,
    OperatingPoint,
    OutputStream,
    PlannedCell,
    Reference,
    Replay,
    ReplayKey,
    Reply,
    Request,
    Score,
    Side,
    Spend,
    StateEntry,
    Task,
    Text,
    Toolchain,
    Trial,
    TrialKey,
    Usage,
    digest,
)

STARTED_AT = 1_764_400_000.0
PATHS = {"raw": digest("raw"), "nested-shell": digest("nested-shell")}
CONTRACT_TEXTS = {
    "raw": "Reply with one shell command. It is run as it is, by `bash -c`.\n",
    "nested": 'Reply with one shell command. It is put between double quotes: bash -c "<your reply>".\n',
}
TASKS = (
    ("write-bytes/price", "write-bytes", 1),
    ("write-bytes/plain", "write-bytes", 0),
    ("rename-file/dash", "rename-file", 2),
)


SERVER_ERROR = Fault(boundary="model", type="server_error", message="500", attempts=3)


def task(name: str = "write-bytes/price", family: str = "write-bytes", tier: int = 1) -> Task:
    """A task whose naive command loses a dollar sign under double quotes."""
    return Task(
        id=name,
        family=family,
        tier=tier,
        hazards=("dollar",) if tier else (),
        instruction=f"Write exactly \u27eacosts $5\u27eb into out.txt ({name}).",
        fixture=(FileEntry(path=b"odd\xff.txt", content=b"\x00\xfe\n"),),
        expected=(FileEntry(path=b"out.txt", content=b"costs $5"),),
        oracle="printf %s 'costs $5' > out.txt",
        naive='echo "costs $5" > out.txt',
    )


def candidate(name: str, transport: str = "nested-shell", contract: str = "nested", temperature: float | None = 0.0) -> Candidate:
    """A candidate of one of the shipped baselines."""
    generation = Generation(
        model=ModelSpec(name=f"baseline/{name}"), contract=contract, operating_point=OperatingPoint(temperature=temperature)
    )
    return Candidate(name=name, generation=generation, transport=transport)


def reply(text: str | None) -> Reply:
    """A reply with known usage and an unknown cost."""
    return Reply(
        text=text,
        finish_reason="stop",
        usage=Usage(prompt_tokens=120, completion_tokens=14),
        latency_s=0.8,
        served_model="baseline-1",
    )


def _generation(candidate: Candidate, told: Side) -> Generation:
    return candidate.generation if told == "N" else candidate.generation.model_copy(update={"contract": "raw"})


def _trial(generation: Generation, task: Task, index: int, fault: Fault | None = None) -> Trial:
    key = TrialKey(generation=generation.digest, task=task.id, index=index)
    request = Request(
        key=digest([generation.digest, task.id, index]),
        trial=key,
        contract=generation.contract,
        endpoint=None,
        model=generation.model.name,
        messages=(
            {"role": "system", "content": CONTRACT_TEXTS[generation.contract]},
            {"role": "user", "content": task.instruction},
        ),
        params={"temperature": generation.operating_point.temperature, "seed": None},
        timeout_s=60,
    )
    if fault:
        return Trial(key=key, request=request, fault=fault)
    return Trial(key=key, request=request, reply=reply(f"printf %s 'costs $5' > out.txt # {generation.contract} \u00e9"))


def _attempt(trial: Trial) -> Attempt:
    return Attempt(
        request_key=trial.request.key,
        number=1,
        session=1,
        started_at=STARTED_AT,
        ended_at=STARTED_AT + 0.8,
        fault=trial.fault,
        usage=trial.reply.usage if trial.reply else None,
    )


def _replay(trial: Trial, transport: str, content: bytes) -> Replay:
    key = ReplayKey(trial=trial.key, path=PATHS[transport])
    text = ((trial.reply and trial.reply.text) or "").encode("utf-8", "surrogatepass")
    action = Action(command=Command(argv=(b"bash", b"-c", text)), hops=(Hop(layer=transport, text=text),))
    result = ExecResult(exit_code=0, stdout=OutputStream(data=b"\xff", size=1), duration_s=0.004)
    entry = StateEntry(path=b"out.txt", kind="file", mode=0o644, size=len(content), sha256=digest("x"), content=content)
    execution = Execution(key=key, results=(result,), state=FinalState(entries=(entry,)), starts=1)
    return Replay(key=key, transport=transport, delivery=Delivery(actions=(action,)), execution=execution)


def _score(replay: Replay, passed: bool) -> Score:
    return Score(
        key=replay.key,
        state_ok=passed,
        reported_ok=True,
        passed=passed,
        cause=None if passed else "wrong_state",
        reason="" if passed else "out.txt: expected 'costs $5', found 'costs '",
    )


def estimate(value: float | None, n: int = 3, half: float = 0.2, *, rate: bool = False) -> Estimate:
    """An estimate for the task population, with an interval of the given half width."""
    bottom = 0.0 if rate else -1.0
    low, high = (None, None) if value is None else (max(bottom, value - half), min(1.0, value + half))
    return Estimate(value=value, low=low, high=high, n=n, estimand="task_population", method="t on family means")


def _cell(candidate: Candidate, told: Side, done: Side, scores: list[Score], faults: int) -> Cell:
    passed = sum(score.passed for score in scores)
    rate = passed / len(scores) if scores else None
    wrong = sum(score.silent_wrong for score in scores)
    return Cell(
        told=told,
        done=done,
        contract=candidate.generation.contract if told == "N" else "raw",
        transport=candidate.transport if done == "N" else "raw",
        planned=len(scores) + faults,
        scored=len(scores),
        passed=passed,
        faults=faults,
        unstable=0,
        rate=estimate(rate, len(scores), rate=True),
        silent_wrong=estimate(wrong / len(scores) if scores else None, len(scores), rate=True),
        causes={"wrong_state": len(scores) - passed} if passed < len(scores) else {},
        tiers={"1": (passed, len(scores))} if scores else {},
    )


def _effects(cells: dict[str, Cell]) -> tuple[Effect, ...]:
    pairs = (("damage", "RN", "RR"), ("compensation", "NN", "RN"), ("matched_gap", "NN", "RR"))
    return tuple(
        Effect(
            name=name,  # pyright: ignore[reportArgumentType]  # literals of the tuple above
            minuend=left,
            subtrahend=right,
            these=estimate((cells[left].rate.value or 0) - (cells[right].rate.value or 0)),
            population=estimate((cells[left].rate.value or 0) - (cells[right].rate.value or 0)),
        )
        for name, left, right in pairs
    )


def _candidate_facts(
    candidate: Candidate, tasks: tuple[Task, ...], trials: int, fault: bool
) -> tuple[list[Trial], list[Replay], list[Score], Decomposition]:
    """All four cells of one candidate: told N passes everywhere for ``adaptive``, nowhere on N for the others."""
    all_trials: list[Trial] = []
    replays: list[Replay] = []
    scores: list[Score] = []
    cells: dict[str, Cell] = {}
    for told in ("R", "N"):
        own: list[Trial] = []
        for number, one in enumerate(tasks):
            for index in range(trials):
                problem = (
                    Fault(boundary="model", type="server_error", message="500", attempts=3) if fault and not number else None
                )
                own.append(_trial(_generation(candidate, told), one, index, problem))
        all_trials += own
        for done in ("R", "N"):
            transport = candidate.transport if done == "N" else "raw"
            right = done == "R" or (told == "N" and candidate.name == "adaptive")
            got = [_replay(trial, transport, b"costs $5" if right else b"costs ") for trial in own if trial.reply]
            marks = [_score(one, right or one.key.trial.task == "write-bytes/plain") for one in got]
            replays += got
            scores += marks
            cells[told + done] = _cell(candidate, told, done, marks, len(own) - len(got))
    control = Control(kind="encoded", status="holds", compared=len(tasks))
    decomposition = Decomposition(candidate=candidate.name, cells=tuple(cells.values()), effects=_effects(cells), control=control)
    return all_trials, replays, scores, decomposition


def _planned(candidate: Candidate) -> list[PlannedCell]:
    return [
        PlannedCell(
            candidate=candidate.name,
            told=told,
            done=done,
            generation=_generation(candidate, told),
            contract=candidate.generation.contract if told == "N" else "raw",
            transport=candidate.transport if done == "N" else "raw",
            path=PATHS[candidate.transport if done == "N" else "raw"],
        )
        for told in ("R", "N")
        for done in ("R", "N")
    ]


def _lock(candidates: tuple[Candidate, ...], tasks: tuple[Task, ...], trials: int) -> Lock:
    return Lock(
        candidates=candidates,
        reference=Reference(),
        trials=trials,
        tasks={one.id: one.digest for one in tasks},
        contracts={name: digest(text) for name, text in CONTRACT_TEXTS.items()},
        transports=PATHS,
        suites={"exact": digest("exact")},
        toolchain=Toolchain(sandbox="fake", limits_enforced=("time", "output"), programs={"bash": "GNU bash, version 5.2.15"}),
        served_models={f"baseline/{one.name}": ("baseline-1",) for one in candidates},
        packages={"mlflow": "3.17.2", "litellm": "1.110.2"},
        commit="0" * 40,
    )


def _texts() -> dict[str, tuple[Text, ...]]:
    suite = "name: exact\nexpectations: []\n"
    return {
        "contracts": tuple(
            Text(name=name, version="1", content=text, digest=digest(text)) for name, text in CONTRACT_TEXTS.items()
        ),
        "transports": tuple(Text(name=name, version="1", content=f"name: {name}\n", digest=PATHS[name]) for name in PATHS),
        "suites": (Text(name="exact", content=suite, digest=digest("exact")),),
    }


def evaluation(
    evaluation_id: str = "quoting-20261129-1",
    *,
    names: tuple[str, ...] = ("oracle", "adaptive"),
    tasks: tuple[Task, ...] | None = None,
    trials: int = 1,
    fault: bool = False,
    experiment: str = "quoting",
) -> tuple[Facts, Judgement]:
    """Facts and judgement of one finished evaluation. ``fault``: the first task of the first candidate got no reply."""
    tasks = tasks or tuple(task(*one) for one in TASKS)
    candidates = tuple(candidate(name) for name in names)
    parts = [_candidate_facts(one, tasks, trials, fault and one is candidates[0]) for one in candidates]
    all_trials = tuple(trial for part in parts for trial in part[0])
    head = EvaluationHead(
        id=evaluation_id,
        name="quoting",
        created_at=STARTED_AT,
        status="finished",
        spec={"name": "quoting", "trials": trials},
        spec_digest=digest("spec"),
        experiment=experiment,
    )
    texts = _texts()
    facts = Facts(
        head=head,
        lock=_lock(candidates, tasks, trials),
        tasks=tasks,
        cells=tuple(cell for one in candidates for cell in _planned(one)),
        trials=all_trials,
        attempts=tuple(_attempt(trial) for trial in all_trials),
        replays=tuple(replay for part in parts for replay in part[1]),
        sessions=((STARTED_AT, STARTED_AT + 4),),
        contracts=texts["contracts"],
        transports=texts["transports"],
        suites=texts["suites"],
    )
    return facts, _judgement(parts, len(all_trials))


def _judgement(parts: list[tuple[list[Trial], list[Replay], list[Score], Decomposition]], requests: int) -> Judgement:
    decompositions = tuple(part[3] for part in parts)
    comparisons = ()
    if len(decompositions) > 1:
        a, b = decompositions[0].candidate, decompositions[1].candidate
        changed = (("model", f"baseline/{a}", f"baseline/{b}"),)
        comparisons = (Comparison(a=a, b=b, difference=estimate(0.5), changed=changed),)
    return Judgement(
        scores=tuple(score for part in parts for score in part[2]),
        decompositions=decompositions,
        comparisons=comparisons,
        spend=Spend(requests=requests, replies=requests, prompt_tokens=120 * requests, completion_tokens=14 * requests),
        warnings=("the served model's name differs from the requested one: baseline-1",),
    )
