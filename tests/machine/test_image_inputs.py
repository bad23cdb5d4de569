from dataclasses import replace
from pathlib import Path

import pytest

from tools.machine.failure import MachineError
from tools.machine.image_inputs import (
    STAND_IN,
    STAND_IN_DOCKERFILE,
    TrainerImage,
    copied,
    inputs,
    key,
    stage,
    trainer_version,
)

_DOCKERFILE = """\
ARG BASE=python
FROM ${BASE} AS wheels
COPY locks/build.txt \\
     locks/other.txt /build/
COPY --chown=1:1 trainer /build/trainer
FROM wheels AS cpu
COPY --from=wheels /wheels /wheels
"""


@pytest.fixture
def image(tmp_path: Path) -> TrainerImage:
    for folder in ("trainer/src", "locks", "docs"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "trainer/Dockerfile").write_text(_DOCKERFILE)
    (tmp_path / "trainer/pyproject.toml").write_text('[project]\nversion = "1.2.3"\n')
    (tmp_path / "trainer/src/loop.py").write_text("")
    (tmp_path / "locks/build.txt").write_text("")
    (tmp_path / "locks/other.txt").write_text("")
    (tmp_path / "docs/page.md").write_text("")
    return TrainerImage(tmp_path, "1.2.3")


def test_the_inputs_are_what_the_dockerfile_copies_from_the_context() -> None:
    assert copied(_DOCKERFILE) == ["locks/build.txt", "locks/other.txt", "trainer"]


@pytest.mark.parametrize("file", ["trainer/src/loop.py", "locks/build.txt", "trainer/Dockerfile"])
def test_a_changed_input_changes_the_key(image: TrainerImage, file: str) -> None:
    before = key(image, ())
    path = image.context / file
    path.write_text(path.read_text() + "\n# changed\n")
    assert key(image, ()) != before


@pytest.fixture
def stand_in(image: TrainerImage) -> TrainerImage:
    """The image that is a layer over the trainer's."""
    dockerfile = image.context / STAND_IN_DOCKERFILE
    dockerfile.parent.mkdir(parents=True)
    dockerfile.write_text("ARG BASE\nFROM ${BASE} AS serving-stand-in\nCOPY tests /tests\n")
    return replace(image, target=STAND_IN)


def test_the_stand_in_is_a_layer_over_the_trainers_image(stand_in: TrainerImage) -> None:
    assert stand_in.name == "localhost/tf-cluster-test/serving-stand-in:1.2.3"
    trainer = "localhost/tf-cluster-trainer:1.2.3"
    assert stand_in.below is not None
    assert stand_in.below.name == trainer
    assert stand_in.arguments[-2:] == ["--build-arg", f"BASE={trainer}"]
    assert set(inputs(stand_in)) == {STAND_IN_DOCKERFILE}
    other = replace(stand_in, tensorflow="2.20.0", base="python:3.13")
    assert other.arguments[-1] == f"BASE={trainer}-tf2.20.0"
    assert other.below is not None
    assert other.below.arguments[-3:] == [
        "BASE=python:3.13",
        "--build-arg",
        "TF_VERSION=2.20.0",
    ]


def test_the_stand_ins_files_change_no_trainer_image(stand_in: TrainerImage) -> None:
    assert stand_in.below is not None
    before = key(stand_in, ()), key(stand_in.below, ())
    (stand_in.context / "tests" / "core.py").write_text("changed")
    assert key(stand_in, ()) != before[0]
    assert key(stand_in.below, ()) == before[1]


def test_byte_code_and_files_that_are_not_copied_do_not_change_it(image: TrainerImage) -> None:
    before = key(image, ())
    (image.context / "docs/page.md").write_text("changed")
    cached = image.context / "trainer/src/__pycache__"
    cached.mkdir()
    (cached / "loop.pyc").write_bytes(b"x")
    assert key(image, ()) == before


def test_target_and_base_change_it(image: TrainerImage) -> None:
    assert key(replace(image, target="gpu"), ()) != key(image, ())
    assert key(image, ("another base",)) != key(image, ())


def test_a_staged_copy_has_the_same_key_and_one_time(image: TrainerImage, tmp_path: Path) -> None:
    staged = stage(image, tmp_path / "staged")
    assert key(staged, ()) == key(image, ())
    assert len({path.stat().st_mtime for path in staged.context.rglob("*")}) == 1
    assert not (staged.context / "docs").exists()


def test_the_version_is_read_from_the_trainer(image: TrainerImage) -> None:
    assert trainer_version(image.context) == "1.2.3"


def test_a_trainer_without_a_version_is_refused(image: TrainerImage) -> None:
    (image.context / "trainer/pyproject.toml").write_text("[project]\n")
    with pytest.raises(MachineError, match="names no version; pass --version"):
        trainer_version(image.context)


def test_a_pattern_takes_every_file_that_it_fits(image: TrainerImage) -> None:
    dockerfile = image.context / "trainer/Dockerfile"
    dockerfile.write_text("COPY locks/bu*.txt /build/\n")
    before = key(image, ())
    (image.context / "locks/build-2.txt").write_text("")
    assert key(image, ()) != before


def test_what_is_asked_for_is_in_the_name_the_key_and_the_builds_arguments(
    image: TrainerImage,
) -> None:
    asked = replace(image, target="gpu", tensorflow="2.20.0", base="debian:13")
    assert asked.name == "localhost/tf-cluster-trainer:1.2.3-gpu-tf2.20.0"
    assert asked.arguments == [
        *("--target", "gpu", "--tag", asked.name),
        *("--build-arg", "BASE=debian:13", "--build-arg", "TF_VERSION=2.20.0"),
    ]
    assert len({key(image, ()), key(asked, ()), key(replace(asked, base=""), ())}) == 3
