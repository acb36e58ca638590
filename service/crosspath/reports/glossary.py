"""The words that a report uses in its own way, each in a line, where a reader meets them first."""

_WORDS = (
    ("path", "all that a reply goes through until a shell runs it; `raw`, the usual reference, hands it over as it is"),
    ("told", "which path the instruction tells the model that its reply will take; told raw: it is run as it stands"),
    ("as deployed", "told and run the way this candidate is meant to be used"),
    ("RR, RN, NR, NN", "first what the model was told, then where its replies ran: R the reference, N the candidate's own"),
    ("damage", "RN - RR: what the path does to replies that knew nothing of it; the same replies on both sides"),
    ("compensation", "NN - RN: what telling the model about its path wins back, or costs"),
    ("matched gap", "NN - RR: the sum of both, and all that a plain score shows. Contract effect: NR - RR, telling alone"),
    ("control", "the same replies, encoded so that they survive the path. It holds where they pass as on the reference: then what"
     " the path breaks is the path's doing, and not the instrument's"),
    ("scored, fault, unstable", "a trial with a verdict; one without, because something failed around it; one whose repeated"
     " replays disagree"),
    ("silent wrong, false alarm", "wrong, though the path told its caller that all is well; right, though it told of a failure"),
    ("family, tier", "tasks of one kind; how hostile a task's payload is, 0 harmless"),
    ("over families", "a mean in which each family counts the same; its interval is for task families like these"),
    ("points", "percentage points: a difference of two rates"),
)  # fmt: skip


def glossary_section() -> str:
    """The words as a section."""
    return "## Words used here\n\n" + "".join(f"- **{word}**: {meaning}.\n" for word, meaning in _WORDS)
