"""Probes of shapes: lines, quotes, expansions, operators, here-documents, ends; and of what a path reports."""

from collections.abc import Iterator
from typing import Any

from crosspath.transports.probes import Group, Probe

LONG_LINE = 5_000
LONG_COMMAND = 60_000
"""Characters; Linux takes 131,071 bytes as one argument."""
MUCH_OUTPUT = 300_000
"""Bytes; a pipe holds 65,536."""
HOLDS_OUTPUT_S = 4
"""How long a process in the background keeps the output open."""

_LINES: tuple[tuple[str, str, dict[str, Any]], ...] = (
    (
        "several lines",
        "touch a\ntouch b\ntouch c",
        {
            "quick": True,
            "hard": True,
            "known": (
                ("a", "everything after the first line is dropped"),
                ("a b", "the last line is dropped"),
                ("a b c touch", "lines are joined to one"),
                ("c", "only the last line is carried out"),
            ),
        },
    ),
    ("a blank line", "touch a\n\ntouch b", {}),
    ("indented lines", "if :; then\n    touch a\n\ttouch b\nfi", {}),
    ("a blank in front", "  touch a", {}),
    ("an empty line in front", "\ntouch a", {}),
    ("blanks at the end", "touch a  ", {}),
    ("a line end at the end", "touch a\n", {"quick": True}),
    ("several line ends at the end", "touch a\n\n\n", {}),
    ("a comment at the end", "touch a # done", {"quick": True, "hard": True}),
    ("a comment line in front", "# make it\ntouch a", {}),
    ("a comment line at the end", "touch a\n# done", {}),
    ("a backslash at the end of a line", "touch a \\\n  b", {}),
    (
        "a text of several lines (indented, blank, padded)",
        "printf %s 'one\n  two\n\n\tthree  \n' > got",
        {
            "quick": True,
            "hard": True,
            "known": (
                ("got=one\ntwo\n\nthree  \n", "indentation is removed"),
                ("got=one\n  two\n\n\tthree\n", "blanks at the end of lines are removed"),
                ("got=one\ntwo\n\nthree\n", "indentation and blanks at the end of lines are removed"),
                ("got=one\n  two\n\tthree  \n", "blank lines are removed"),
                ("got=one\r\n  two\r\n\r\n\tthree  \r\n", "every line end becomes CR LF"),
            ),
        },
    ),
    (
        "a directory or a variable of one line in the next",
        'mkdir d\ncd d\nx=1\ntouch "f$x"',
        {"known": (("d/ f", "each line has a shell of its own"), ("d/ f1", "a change of directory is lost"))},
    ),
    ("a loop over several lines", "for x in a b\ndo\n  touch $x\ndone", {}),
)

_HERE_DOCUMENTS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    (
        "with a quoted delimiter",
        "cat > got <<'END'\n$HOME `id -u` \\n \"q\"\n  two\nEND\ntouch after",
        {"quick": True, "hard": True},
    ),
    ("with a bare delimiter", 'x=v; cat > got <<END\n$x \\$x "q"\nEND\ntouch after', {}),
    ("with a line EOF in it", "cat > got <<'END'\none\nEOF\ntwo\nEND", {"hard": True}),
    ("with tabs in front (<<-)", "cat > got <<-END\n\tone\n\tEND\ntouch after", {}),
    ("at the very end", "cat > got <<'EOF'\none\nEOF", {"quick": True}),
    ("at the very end, with a line end behind it", "cat > got <<'EOF'\none\nEOF\n", {}),
)

_QUOTING: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("a single quote written as '\\''", "printf %s 'it'\\''s' > got", {"quick": True, "hard": True}),
    ("a mix of three kinds of quotes", "printf %s 'a  '\"b  \"\\ c > got", {}),
    ("a shell in a shell", 'bash -c "printf %s \'a  \\"b\\"\' > got"', {}),
    ("an empty argument", "printf '[%s]' a '' \"\" b > got", {}),
    ("a blank at both ends of a quoted text", "printf %s ' a ' > got", {}),
    ("a quoted glob that would match", "touch a1 a2; printf %s 'a*' > got", {"verb": "expanded"}),
    ("a quoted tilde", "printf %s '~' > got", {"verb": "expanded"}),
    ("an argument that begins with a dash", "printf %s -n -e > got", {}),
)

_IN_SINGLE_QUOTES: tuple[tuple[str, str, str], ...] = (
    # subject, payload between single quotes, what has happened if something else arrives
    ("`$HOME`", "$HOME", "expanded"),
    ("`${HOME}`", "a${HOME}z", "expanded"),
    ("`$(echo x)`", "a$(echo x)z", "expanded"),
    ("`` `echo x` ``", "a`echo x`z", "expanded"),
    ("`$1`", "a $1 z", "expanded"),
    ("`$$`", "a$$z", "expanded"),
    ("`\\n`", "a\\nz", "resolved"),
    ("`\\\\`", "a\\\\z", "resolved"),
    ('`\\"`', 'a\\"z', "resolved"),
    ("`\\$`", "a\\$z", "resolved"),
    ("a slash", "a/z", "changed"),
    ("`\\u0041` and `\\x41`", "a\\u0041z\\x41", "resolved"),
    ("a backslash at the end", "az\\", "changed"),
    ("`{{ x }}`", "a{{ x }}z", "rendered"),
    ("`{% if x %}`", "a{% if x %}z", "rendered"),
    ("`{# x #}`", "a{# x #}z", "rendered"),
    ("`${{ x }}`", "a${{ x }}z", "rendered"),
    ("`{x}` and `{}`", "a{x}z{}", "rendered"),
    ("`%s` and `%%`", "a%sz%%", "formatted"),
    ("`%41`", "a%41z", "decoded"),
    ("`&lt;` and `&amp;`", "a&lt;z&amp;", "decoded"),
    ("`<b>x</b>`", "<b>x</b>", "changed"),
    ("`!!` and `!x`", "!!z!x", "expanded"),
    ("`{a,b}`", "{a,b}z", "expanded"),
    ("` | `, ` && ` and ` > `", "a | z && b > c", "changed"),
    ("a code fence", "a\n```\nb\n```\nz", "changed"),
    ("a JSON text", '{"a": "b\\n\\"c\\"", "d": [1, null]}', "changed"),
)
_QUICK = ("`$HOME`", "`\\\\`", "`{{ x }}`", "`&lt;` and `&amp;`", "a JSON text", "a code fence")
_HARD = (
    "`$HOME`",
    "`` `echo x` ``",
    "`\\\\`",
    "`\\n`",
    '`\\"`',
    "`{{ x }}`",
    "`%41`",
    "`&lt;` and `&amp;`",
    "a code fence",
    "`!!` and `!x`",
)

_EXPANSIONS: tuple[tuple[str, str, str], ...] = (
    ("a variable that the command sets", 'x=v; printf %s "a$x" > got', ""),
    ("`${x}` and `${x:-d}`", 'x=v; printf %s "a${x}${y:-d}" > got', ""),
    ("`\\$x` between double quotes", 'x=v; printf %s "a\\$x" > got', "expanded"),
    ("`$(...)`", 'printf %s "a$(printf "b c")" > got', ""),
    ("backquotes", 'printf %s "a`printf b`" > got', ""),
    ("`$((1+2))`", "printf %s $((1+2)) > got", ""),
    ("`$?`", "false; printf %s $? > got", ""),
    ("a variable of awk", "printf 'a b' | awk '{print $2}' > got", ""),
    ("a glob", "touch a1 a2; printf '%s ' a* > got", ""),
    ("`~`", "printf %s ~ > got", ""),
)

_OPERATORS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("`;`", "touch a; touch b", {"quick": True, "known": (("; a b touch", "`;` becomes a word"),)}),
    ("`&&` after a success", "touch a && touch b", {}),
    (
        "`&&` after a failure",
        "false && touch a; touch b",
        {"known": (("a b", "what stands behind `&&` runs though what is in front of it failed"),)},
    ),
    ("`||`", "true || touch a; false || touch b", {}),
    ("a pipe", "printf 'a b' | tr ' ' _ > got", {"quick": True}),
    ("a pipe into a command that makes a file", "printf 'b\\na\\n' | sort | tee got > /dev/null", {}),
    ("`>>`, `<` and `2>&1`", "printf x > a; { cat < a; printf y >&2; } >> got 2>&1", {}),
    ("`&` and `wait`", "touch a & wait; touch b", {}),
    ("`( )` and `{ }`", "(cd / && pwd) > got; { touch a; touch b; }", {}),
    ("`!` in front of a command", "! false && touch a", {}),
    ("a command that reads standard input", "cat > got; touch after", {"quick": True}),
    ("`[[ ]]`", "if [[ ab == a* ]]; then touch a; fi", {"place": "of bash"}),
    ("arrays", 'x=(a b); touch "${x[1]}"', {"place": "of bash"}),
    ("`<<<`", "cat <<< x > got", {"place": "of bash"}),
    ("`<( )`", "cat <(printf x) > got", {"place": "of bash"}),
    ("`$'\\t'`", "printf %s $'a\\tz' > got", {"place": "of bash"}),
    ("`{a,b}`", "touch {a,b}", {"place": "of bash"}),
)

_ENDS: tuple[tuple[str, str], ...] = (
    ("`;`", "touch a;"),
    ("an escaped `;`", "> got printf %s ab\\;"),
    ("a doubled backslash", "> got printf %s ab\\\\"),
    ("`!`", "> got printf %s ab!"),
    ("a single quote", "> got printf %s 'a b'"),
    ("a double quote", '> got printf %s "a b"'),
    ("`)`", "(touch a)"),
    ("`}`", "{ touch a; }"),
    ("`&`", "touch a &"),
    ("a letter of more than one byte", "> got printf %s abé"),
    ("`.sh`", "touch a.sh"),
    ("`?`", "> got printf %s 'ab' ?"),
)

ENDED = "the first command that fails ends it"
_REPORTS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("`exit 3` at the end", "touch a; exit 3", {"quick": True}),
    ("a last command that ends with 3", "touch a; (exit 3)", {}),
    ("`exit` in the middle", "touch a; exit 0; touch b", {}),
    ("`exit` at the end", "touch a; exit", {}),
    (
        "a command in the middle that fails",
        "false; touch a",
        {"quick": True, "known": (("", ENDED),)},
    ),
    ("a line in the middle that fails", "false\ntouch a", {"known": (("", "the first line that fails ends it"),)}),
    ("a pipe whose first program fails", "touch a; false | cat", {}),
    ("a variable that is not set", "touch a; printf %s \"$no_such\"; touch b", {}),
    ("`exec`", "touch a; exec touch b", {}),
    ("a trap for the end", "trap 'touch b' EXIT; touch a", {}),
    ("words on standard error", "touch a; echo careful >&2", {"quick": True}),
    ("output that is no UTF-8", "touch a; printf '\\377\\376\\n'", {"quick": True}),
    (f"{MUCH_OUTPUT} bytes of output", f"touch a; head -c {MUCH_OUTPUT} /dev/zero | tr '\\0' x", {}),
    ("output without a line end", "touch a; printf %s done", {}),
    (
        "a process in the background that writes later",
        "(sleep 0.5; touch late) > /dev/null 2>&1 & touch now",
        {"settle_s": 2.0, "quick": True, "known": (("now", "processes in the background are killed when the command ends"),)},
    ),
    (
        f"a process in the background that keeps the output open for {HOLDS_OUTPUT_S} s",
        f"{{ sleep {HOLDS_OUTPUT_S}; touch late; }} & touch now",
        {
            "settle_s": HOLDS_OUTPUT_S + 2.0,
            "known": (("now", "processes in the background that keep the output open are killed"),),
        },
    ),
)  # fmt: skip


def shapes() -> Iterator[Probe]:
    """The probes of shapes, in the order in which they are told."""
    for subject, command, more in _LINES:
        yield _probe("shapes", "lines", subject, command, more)
    for subject, command, more in _HERE_DOCUMENTS:
        yield _probe("shapes", "here-documents", f"a here-document {subject}", command, more)
    for subject, command, more in _QUOTING:
        yield _probe("shapes", "quoting", subject, command, more)
    for subject, payload, verb in _IN_SINGLE_QUOTES:
        more = {"verb": verb, "place": "between single quotes", "quick": subject in _QUICK, "hard": subject in _HARD}
        yield _probe("shapes", "between single quotes", subject, f"printf %s '{payload}' > got", more)
    for subject, command, verb in _EXPANSIONS:
        known = (("", ENDED),) if subject == "`$?`" else ()
        more = {"verb": verb, "known": known, "quick": command.startswith('x=v; printf %s "a$x')}
        yield _probe("shapes", "expansions", subject, command, more)
    for subject, command, more in _OPERATORS:
        yield _probe("shapes", "operators", subject, command, more)
    for subject, command in _ENDS:
        more = {"place": "at the very end", "quick": subject == "an escaped `;`", "settle_s": 2.0 if subject == "`&`" else 0.0}
        yield _probe("shapes", "ends", subject, command, more)
    yield from _long_ones()


def reports() -> Iterator[Probe]:
    """The probes of what the path reports: statuses, output, processes that go on."""
    for subject, command, more in _REPORTS:
        yield _probe("report", "report", subject, command, more)


def _long_ones() -> Iterator[Probe]:
    for subject, length, hard in (
        (f"a line of {LONG_LINE} characters", LONG_LINE, False),
        (f"a command of {LONG_COMMAND} characters", LONG_COMMAND, True),
    ):
        payload = "0123456789" * (length // 10)
        yield _probe("shapes", "length", subject, f"printf %s '{payload}' > got", {"quick": not hard, "verb": "changed"})


def _probe(group: Group, family: str, subject: str, command: str, more: dict[str, Any]) -> Probe:
    return Probe(name=f"{family}: {subject}", group=group, subject=subject, command=command, **more)


LINES = next(shapes())
"""The probe of several lines: a form that others are written in."""
