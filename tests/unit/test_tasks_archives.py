"""Archives that fixtures are made of."""

import hashlib
import io
import tarfile

from crosspath.tasks.archives import tar_archive
from crosspath.tasks.places import Place
from crosspath.tasks.templates import render

MEMBERS = {"C:\\new $5\né.txt": "one\n", "-" + "long " * 30 + "ü": "x" * 1500, "empty": ""}


def test_members_are_read_back() -> None:
    """Another reader of tar finds every member under its name, in order and with its content, however long or odd the name."""
    with tarfile.open(fileobj=io.BytesIO(tar_archive(MEMBERS))) as archive:
        found = {member.name: archive.extractfile(member).read().decode() for member in archive}  # pyright: ignore[reportOptionalMemberAccess]
    assert list(found.items()) == list(MEMBERS.items())


def test_bytes_never_change() -> None:
    """The same members give the same bytes for ever: digests of tasks hold them."""
    assert (
        hashlib.sha256(tar_archive({"a.txt": "one\n"})).hexdigest()
        == "ac75b94f87bdd0d5d10464e98b9b11fcfe8964b23c9d0f47b0e271bb0708cbd8"
    )


def test_filter_gives_base64() -> None:
    """A template writes an archive as the base64 of a fixture."""
    text = render("{{ members | tar }}", {"members": {"a.txt": "one\n"}}, Place("family.yaml"))
    assert isinstance(text, str)
    assert text.startswith("YS50eHQA")
