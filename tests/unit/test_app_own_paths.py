"""Where commands find a user's own paths."""

from pathlib import Path

import pytest

from crosspath.app.resolve import read_own
from crosspath.errors import ConfigError

BY_NAME = "ours: [trim, shell]\n"
SECTION = "transports: {ours: [trim, shell]}\n"
SPEC = SECTION + "candidates: {a: {model: baseline/oracle}}\n"


@pytest.mark.parametrize(("text", "options"), [(BY_NAME, "paths"), (SECTION, "paths"), (SECTION, "spec"), (SPEC, "spec")])
def test_paths_are_found(text: str, options: str, tmp_path: Path) -> None:
    """A file of paths by name, one that holds a spec's section of them alone, and a whole spec will do."""
    file = tmp_path / "own.yaml"
    file.write_text(text)
    own = read_own(file if options == "paths" else None, file if options == "spec" else None)
    assert [layer.layer for layer in own.path_specs()["ours"].layers] == ["trim", "shell"]


def test_a_wrong_layer_is_named_with_file_path_and_place(tmp_path: Path) -> None:
    """The complaint says in which file, which path, which layer and which option."""
    file = tmp_path / "own.yaml"
    file.write_text("ours: [trim, {layer: replace, find: x}, {layer: replace}, shell]\n")
    with pytest.raises(ConfigError, match=r"own\.yaml: transports\.ours: layers\.2\.replace: replace needs the option 'find'"):
        read_own(file, None).path_specs()


def test_a_whole_spec_is_no_file_of_paths(tmp_path: Path) -> None:
    """What else a spec says would be left out without a word."""
    file = tmp_path / "own.yaml"
    file.write_text(SPEC)
    with pytest.raises(ConfigError, match="give it as --spec"):
        read_own(file, None)
