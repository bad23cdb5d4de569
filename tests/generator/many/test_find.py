"""Which files a name stands for: a file, a folder, a pattern."""

from __future__ import annotations

import glob
import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tf_cluster.many.find import find

PARTS = ("a", "b", "ab", "*", "a*", "?", "[ab]", "[!a]", "**", "a?*")
NAMES = ("a", "b", "ab", "ba.yaml", "a.params.yaml", "b.params.yaml", "a[b].yaml", "c\n.yaml")
NOBODY = 65534


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _make(*names: str) -> None:
    for name in names:
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text("")


def test_of_a_folder_the_params_files_are_taken_at_any_depth_and_sorted() -> None:
    _make("t/b.params.yaml", "t/a.params.yml", "t/x/y/c.params.yaml", "t/a.values.yaml", "t/p.yaml")

    found = find(["t"])

    assert found.files == ("t/a.params.yml", "t/b.params.yaml", "t/x/y/c.params.yaml")
    assert found.several
    assert find(["."]).files == found.files


def test_what_git_and_environments_hold_is_nobodys() -> None:
    _make("a.params.yaml", ".git/b.params.yaml", "env/pyvenv.cfg", "env/c.params.yaml")
    _make("node_modules/d.params.yaml", "x/__pycache__/e.params.yaml")

    assert find(["."]).files == ("a.params.yaml",)
    assert find(["**/*.params.yaml"]).files == ("a.params.yaml",)
    assert find([".git"]).files == (".git/b.params.yaml",)  # but who names it means it


def test_files_that_begin_with_a_dot_are_an_editors_or_a_systems() -> None:
    _make("a.params.yaml", "._a.params.yaml", ".params.yaml", "x/.b.params.yaml", "x/b.params.yaml")
    Path(".#a.params.yaml").symlink_to("nobody@nowhere.1")

    assert find(["."]).files == ("a.params.yaml", "x/b.params.yaml")
    assert find(["*.params.yaml"]).files == ("a.params.yaml",)
    assert find(["**/*.params.yaml"]).files == ("a.params.yaml", "x/b.params.yaml")
    assert find(["**"]).files == ("a.params.yaml", "x/b.params.yaml")
    assert find(["x/?b.params.yaml"]).files == ()
    assert find([".[_]*.params.yaml"]).files == ("._a.params.yaml",)  # but who names it means it


def test_links_out_of_a_folder_are_left_out_and_told() -> None:
    _make("in/a.params.yaml", "out/b.params.yaml", "out/deep/c.params.yaml")
    Path("in/link.params.yaml").symlink_to(Path("out/b.params.yaml").absolute())
    Path("in/deep").symlink_to(Path("out/deep").absolute())
    Path("in/round").symlink_to(Path("in").absolute())
    Path("in/same.params.yaml").symlink_to("a.params.yaml")

    found = find(["in"])

    assert found.files == ("in/a.params.yaml",)
    assert found.left_out == ("in/link.params.yaml",)
    assert find(["in/*.yaml"]).left_out == ("in/link.params.yaml",)


@pytest.mark.parametrize("names", [["."], ["*/*.params.yaml"], ["in/z.params.yaml", "."]])
def test_a_file_is_taken_by_its_own_name_and_not_by_a_link_to_it(names: list[str]) -> None:
    _make("in/z.params.yaml")
    Path("in/a.params.yaml").symlink_to("z.params.yaml")

    found = find(names)

    assert found.files == ("in/z.params.yaml",)
    assert found.links == {"in/a.params.yaml": "in/z.params.yaml"}
    assert find(["in/a.params.yaml"]).files == ("in/a.params.yaml",)


def test_a_file_named_twice_is_taken_once_whatever_it_is_called() -> None:
    _make("x/a.params.yaml")

    found = find(
        ["x/a.params.yaml", "x", "./x/../x/a.params.yaml", str(Path("x").absolute()), "x/*"]
    )

    assert found.files == ("x/a.params.yaml",)


@pytest.mark.parametrize("name", ["empty", "x*.yaml", "nowhere/*.yaml", "[b-a]*"])
def test_what_stands_for_nothing_is_told(name: str) -> None:
    Path("empty").mkdir()

    (one,) = find([name]).unread

    assert one.file == name
    assert one.why.startswith(f"{name}: ")


def test_a_file_with_signs_of_a_pattern_in_its_name_is_that_file() -> None:
    _make("a[b].params.yaml", "ab.params.yaml")

    assert find(["a[b].params.yaml"]).files == ("a[b].params.yaml",)
    assert find(["nowhere.yaml"]).files == ("nowhere.yaml",)


def test_a_pattern_of_folders_stands_for_their_params_files() -> None:
    _make("t/one/a.params.yaml", "t/two/x/b.params.yaml", "t/two/c.yaml")

    assert find(["t/*"]).files == ("t/one/a.params.yaml", "t/two/x/b.params.yaml")
    assert find(["t/**"]).files == ("t/one/a.params.yaml", "t/two/x/b.params.yaml")


@contextmanager
def _as_one_who_may_not() -> Iterator[None]:
    """As nobody, where the tests are root's: root reads every folder."""
    if os.geteuid() != 0:
        yield
        return
    Path().chmod(0o755)
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def test_a_folder_that_cant_be_read_is_told() -> None:
    _make("t/a.params.yaml", "t/shut/b.params.yaml")
    Path("t/shut").chmod(0)

    with _as_one_who_may_not():
        found = find(["t"])

    assert found.files == ("t/a.params.yaml",)
    assert [one.file for one in found.unread] == ["t/shut"]


def test_a_drawn_pattern_finds_what_a_shell_does() -> None:
    for number in range(3):
        for depth in range(1, 4):
            for name in NAMES[number : number + 6]:
                _make("/".join((*(f"d{number}", "a", "ab", "b")[:depth], f"f{name}")))
    matched = 0
    for seed in range(300):
        chance = random.Random(seed)
        parts = [chance.choice(PARTS) for _ in range(chance.randrange(0, 4))]
        last = chance.choice(("f*", "*.yaml", "f?*", "*a*.params.yaml", "f[ab]", "f[!a]*"))
        pattern = "/".join((*parts, last)) if parts else last
        expected = {one for one in glob.glob(pattern, recursive=True) if Path(one).is_file()}  # noqa: PTH207
        if "*" not in pattern and "?" not in pattern and "[" not in pattern:
            continue
        assert set(find([pattern]).files) == expected, pattern
        matched += bool(expected)

    assert matched > 20
