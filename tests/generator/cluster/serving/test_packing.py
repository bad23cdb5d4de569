"""The build context that `package` writes: whole, readable for a server, or not there."""

from __future__ import annotations

import os
import random
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from tf_cluster.cluster.serving import packing
from tf_cluster.cluster.serving.packing import pack
from tf_cluster.exits import RefusedError
from tf_cluster_trainer.serving.manifest import OWN, content, file_at, files

WHOLE = ("saved_model.pb", "variables/variables.index", "variables/variables.data-00000-of-00001")


def version(directory: Path, name: str, *files: str) -> Path:
    for file in files or WHOLE:
        path = directory / name / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(random.Random(f"{name}/{file}").randbytes(99))
    return directory / name


def tree(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def published(whole: Path) -> None:
    """Give a version the manifest that `tf-trainer publish-export` writes."""
    held = {name: file_at(whole / name) for name in files(whole)}
    (whole / OWN).parent.mkdir()
    (whole / OWN).write_bytes(content(whole, 1, held))


def run(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        (sys.executable, "-m", "tf_cluster", "package", *map(str, words)),
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("seed", range(20))
def test_the_version_is_there_as_it_was_and_everybody_may_read_it(
    seed: int, tmp_path: Path
) -> None:
    draw = random.Random(seed)
    export = tmp_path / "export"
    numbers = draw.sample(range(1, 200), draw.randint(1, 5))
    for number in numbers:
        version(export, str(number))
    # What a server overlooks.
    version(export, f"00{max(numbers) + 1}")
    version(export, "tmp-999")
    named = draw.choice([None, *numbers])
    wanted = max(numbers) if named is None else named
    (export / str(wanted)).chmod(0o700)
    (export / str(wanted) / "saved_model.pb").chmod(0o600)
    packed = pack(export, named, tmp_path / "a" / "context")
    made = tmp_path / "a" / "context"
    assert (packed.number, packed.size) == (wanted, 3 * 99)
    assert tree(made / "model") == {
        f"{wanted}/{name}": data for name, data in tree(export / str(wanted)).items()
    }
    assert sorted(one.name for one in made.iterdir()) == ["Dockerfile", "model"]
    for path in (made, *made.rglob("*")):
        assert stat.S_IMODE(path.stat().st_mode) == (0o755 if path.is_dir() else 0o644)
    assert [one.name for one in (tmp_path / "a").iterdir()] == ["context"]


def test_what_is_printed_is_what_the_chart_and_the_image_have(tmp_path: Path) -> None:
    version(tmp_path / "export", "7")
    done = run(tmp_path / "export", "-o", tmp_path / "my context")
    assert done.returncode == 0, done.stderr
    commands, _, text = done.stdout.partition("# values of charts/tf-serving:\n")
    (model,) = yaml.safe_load(text)["models"].values()
    image = model["source"]["image"]
    assert f"docker build --tag {image['reference']} '{tmp_path}/my context'\n" in commands
    dockerfile = (tmp_path / "my context" / "Dockerfile").read_text()
    lines = [line for line in dockerfile.splitlines() if not line.startswith("#")]
    assert re.fullmatch(r"ARG BASE=busybox:[\d.]+", lines[0])
    assert lines[1:] == ["FROM ${BASE}", f"COPY model {image['path']}"]
    assert "version 7, 297" in done.stderr


def test_one_version_can_be_named_itself(tmp_path: Path) -> None:
    assert pack(version(tmp_path / "export", "12"), None, tmp_path / "a").number == 12
    assert pack(version(tmp_path, "by-hand"), None, tmp_path / "b").number == 1
    assert pack(version(tmp_path / "first", "0"), 0, tmp_path / "d").number == 0
    # Without variables there is no such directory.
    assert pack(version(tmp_path / "bare", "3", "saved_model.pb"), None, tmp_path / "c").size == 99


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("nowhere",), "nowhere is no directory"),
        (("empty",), "empty has no version"),
        (("export", "--version", "4"), "has no version 4: there are 1, 2"),
        (("export/2", "--version", "1"), "is a version itself: leave out --version 1"),
        (("half",), "has no variables/variables.index: it is half copied"),
        (("torn",), "has no saved_model.pb: it is half copied"),
        (("part",), "has not all of variables/variables.data-…: it is half copied"),
        (("changed",), "is not as it was published: saved_model.pb is another file"),
        (("short",), "is not as it was published: assets/words.txt is not there"),
        (("linked",), "is no file: an image gets files of the version alone"),
        (("piped",), "is no file: an image gets files of the version alone"),
        (("",), "empty"),
    ],
)
def test_what_cant_be_packed_is_refused_and_nothing_is_left(
    words: tuple[str, ...], complaint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("1", "2"):
        version(tmp_path / "export", name)
    (tmp_path / "empty").mkdir()
    version(tmp_path / "half", "1", "saved_model.pb", "variables/variables.data-00000-of-00001")
    version(tmp_path / "torn", "1", "variables/variables.index")
    version(tmp_path / "part", "1", *WHOLE[:2], "variables/variables.data-00000-of-00002")
    for name in ("changed", "short"):
        whole = version(tmp_path / name, "1", *WHOLE, "assets/words.txt")
        published(whole)
    (tmp_path / "changed" / "1" / "saved_model.pb").write_text("another")
    (tmp_path / "short" / "1" / "assets" / "words.txt").unlink()
    (version(tmp_path / "linked", "1") / "assets").symlink_to("/etc")
    os.mkfifo(version(tmp_path / "piped", "1") / "fifo")
    before = sorted(tmp_path.iterdir())
    done = run(*words, "-o", "context")
    assert (done.returncode, done.stdout) == (2, "")
    assert complaint in done.stderr
    assert "Traceback" not in done.stderr
    assert sorted(tmp_path.iterdir()) == before


def test_only_what_it_wrote_itself_is_replaced(tmp_path: Path) -> None:
    export, context = tmp_path / "export", tmp_path / "context"
    version(export, "1")
    context.mkdir()
    pack(export, None, context)  # an empty one is nobody's
    version(export, "2")
    with pytest.raises(RefusedError, match="exists: --force replaces it"):
        pack(export, None, context)
    assert pack(export, None, context, force=True).number == 2
    assert [one.name for one in (context / "model").iterdir()] == ["2"]
    for mine in ("mine.txt", "Dockerfile"):
        text = (context / mine).read_text() if (context / mine).exists() else ""
        (context / mine).write_text(f"{text}RUN mine\n")
        with pytest.raises(RefusedError, match="is not as tf-cluster package wrote it"):
            pack(export, None, context, force=True)
        assert (context / mine).read_text() == f"{text}RUN mine\n"
        (context / "mine.txt").unlink(missing_ok=True)
    (tmp_path / "file").write_text("mine")
    with pytest.raises(RefusedError, match="is there and no directory"):
        pack(export, None, tmp_path / "file", force=True)


def test_a_published_version_goes_with_its_manifest(tmp_path: Path) -> None:
    whole = version(tmp_path / "models", "5")
    published(whole)
    pack(tmp_path / "models", None, tmp_path / "context")
    assert tree(tmp_path / "context" / "model" / "5") == tree(whole)


def test_a_name_that_no_file_can_have_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RefusedError):
        pack(tmp_path / ("x" * 300), None, tmp_path / "context")


def test_what_was_there_is_there_again_when_it_cant_be_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    version(tmp_path / "export", "1")
    pack(tmp_path / "export", None, tmp_path / "context")
    before = tree(tmp_path / "context")
    rename = Path.rename

    def renamed(path: Path, target: Path) -> Path:
        if path.name == "context" and Path(target) == tmp_path / "context":
            raise OSError(28, "No space left on device", str(target))
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", renamed)
    with pytest.raises(RefusedError, match="No space left"):
        pack(tmp_path / "export", None, tmp_path / "context", force=True)
    assert tree(tmp_path / "context") == before


def test_a_folder_that_cant_be_read_is_no_empty_one(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        list(packing._files(tmp_path / "gone meanwhile"))


def test_a_context_that_holds_the_export_is_refused(tmp_path: Path) -> None:
    version(tmp_path / "runs" / "export", "1")
    for context in (tmp_path / "runs", tmp_path / "runs" / "export" / "1"):
        with pytest.raises(RefusedError, match="holds the export itself"):
            pack(tmp_path / "runs" / "export", None, context, force=True)
    with pytest.raises(RefusedError, match="would be a part of the export"):
        pack(tmp_path / "runs" / "export", None, tmp_path / "runs" / "export" / "1" / "new")
    assert tree(tmp_path / "runs" / "export").keys() == {f"1/{name}" for name in WHOLE}
