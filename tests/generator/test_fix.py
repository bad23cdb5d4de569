"""`validate --fix`: the file says what was meant, and looks as before."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from tf_cluster.check import check
from tf_cluster.fixes import fixed, repairable

from tests.generator.conftest import Command
from tests.support.waiting import HANG_SECONDS

GOOD = "name: a\nimage: r/i:1\nprogram: {module: 'p.m:C'}\n"
SCRIPT = "name: a\nimage: r/i:1\nprogram: {script: /a.py, args: [%s]}\n"
IN_LINES = "name: a\nimage: r/i:1\nprogram:\n  script: /a.py\n  args: %s\n"
Changes = list[tuple[str, str]]

SAFE: Changes = [
    (f"{GOOD}run: {{id: 1.10}}  # ours", f"{GOOD}run: {{id: '1.10'}}  # ours"),
    (f"{GOOD}run: {{id: 0x10}}", f"{GOOD}run: {{id: '0x10'}}"),
    (f"{GOOD}run: {{id: 017}}", f"{GOOD}run: {{id: '017'}}"),
    (f"{GOOD}run:\n  id:   no   # not yet", f"{GOOD}run:\n  id:   'no'   # not yet"),
    (SCRIPT % "--rate, 1e-4, yes", SCRIPT % "--rate, '1e-4', 'yes'"),
    (f"{GOOD}evaluator: yes", f"{GOOD}evaluator: true"),
    (f"{GOOD}train: {{xla: 'off', steps: \"30\"}}", f"{GOOD}train: {{xla: false, steps: 30}}"),
    (f"{GOOD}flags: {{n: 1}}", f"{GOOD}flags: {{'n': 1}}"),
    (f"{GOOD}update: synchronous", f"{GOOD}update: sync"),
    (f"{GOOD}update: >-\n  synchronous\nps: 2", f"{GOOD}update: sync\nps: 2"),
    (f"{GOOD}update: |- # why\n  synchronous\n\n", f"{GOOD}update: sync  # why\n\n"),
    (f'{GOOD}train: {{xla:\n  "o\\\n  ff"}}', f"{GOOD}train: {{xla:\n  false}}"),
    (
        f"{GOOD}train:\n  optimizer: &o adam  # why",
        f"{GOOD}train:\n  optimizer: &o {{name: Adam}}  # why",
    ),
    (f"{GOOD}update: &x\n  synchronous", f"{GOOD}update: &x\n  sync"),
    (f"{GOOD}train: {{optimizer: !!str adam}}", f"{GOOD}train: {{optimizer: {{name: Adam}}}}"),
    (SCRIPT.replace("[%s]", "--deep"), SCRIPT % "'--deep'"),
    (SCRIPT.replace("[%s]", r"--pattern=\d+"), SCRIPT % r"'--pattern=\d+'"),
    (f"{GOOD}Workers: 3", f"{GOOD}workers: 3"),
    (f"{GOOD}train: {{batch_size: 3}}", f"{GOOD}train: {{batchSize: 3}}"),
    (f"{GOOD}train: {{optimizer: adam}}", f"{GOOD}train: {{optimizer: {{name: Adam}}}}"),
    (
        f"{GOOD}data: {{accessModes: [RWX, 'ROX']}}",
        f"{GOOD}data: {{accessModes: [ReadWriteMany, 'ReadOnlyMany']}}",
    ),
    (f"{GOOD}data: {{accessModes: RWX}}", f"{GOOD}data: {{accessModes: [ReadWriteMany]}}"),
    (f"{GOOD}data: 20Gi", f"{GOOD}data: {{size: '20Gi'}}"),
    (f"{GOOD}data: false", f"{GOOD}data: {{enabled: false}}"),
    (f"{GOOD}scheduling: {{gang: volcano}}", f"{GOOD}scheduling: {{gang: {{provider: volcano}}}}"),
    (f"{GOOD}log: {{storageClassName: fast}}", f"{GOOD}log: {{class: fast}}"),
    (
        "name: a\nimage: r/i:1\nprogram: /data/train.py\n",
        "name: a\nimage: r/i:1\nprogram: {script: /data/train.py}\n",
    ),
    (
        f"{GOOD}extraValues: {{worker: {{podLabels: {{a: 1.10}}}}}}",
        f"{GOOD}extraValues: {{worker: {{podLabels: {{a: '1.10'}}}}}}",
    ),
    (
        '{"name": "a", "image": "r/i:1", "program": {"module": "p.m:C"}, "Workers":"3"}',
        '{"name": "a", "image": "r/i:1", "program": {"module": "p.m:C"}, "workers":3}',
    ),
    (
        f"\ufeff{GOOD}evaluator: on".replace("\n", "\r\n"),
        f"\ufeff{GOOD}evaluator: true".replace("\n", "\r\n"),
    ),
]
GUESSES: Changes = [
    (f"{GOOD}wrokers: 3  # many", f"{GOOD}workers: 3  # many"),
    (f"{GOOD}ps: &n 3\nwrokers: *n", f"{GOOD}ps: &n 3\nworkers: *n"),
    (f"{GOOD}train: {{stpes: 017}}", f"{GOOD}train: {{steps: 15}}"),
    (f'{GOOD}strategy: "all-reduc"', f'{GOOD}strategy: "all-reduce"'),
    (f"{GOOD}strategy: mirrored", f"{GOOD}strategy: all-reduce"),
    (f"{GOOD}train: {{precision: fp16}}", f"{GOOD}train: {{precision: mixed_bfloat16}}"),
    (GOOD.replace("name: a", "name: My Net!"), GOOD.replace("name: a", "name: my-net")),
    (GOOD.replace("'p.m:C'", "p.m.C"), GOOD.replace("'p.m:C'", "'p.m:C'")),
    (
        SCRIPT.replace("[%s]", "--steps 5 --name='a b'"),
        SCRIPT % "'--steps', '5', '--name=a b'",
    ),
    (
        SCRIPT.replace(
            "{script: /a.py, args: [%s]}", "\n  script: /a.py\n  args: train --n 6,3 -v"
        ),
        SCRIPT.replace(
            "{script: /a.py, args: [%s]}", "\n  script: /a.py\n  args: [train, '--n', '6,3', '-v']"
        ),
    ),
    (f"{GOOD}imagePullSecrets: a, b", f"{GOOD}imagePullSecrets: [a, b]"),
    (
        f"{GOOD}data: {{accessModes: 'RWO,RWX'}}",
        f"{GOOD}data: {{accessModes: [ReadWriteOnce, ReadWriteMany]}}",
    ),
    (f"{GOOD}data: {{size: '10GB'}}", f"{GOOD}data: {{size: '10G'}}"),
    (f"{GOOD}run: {{deadlineSeconds: 1h}}", f"{GOOD}run: {{deadlineSeconds: 3600}}"),
    (f"{GOOD}train: {{steps: 10k}}", f"{GOOD}train: {{steps: 10000}}"),
    (f"{GOOD}gpus: {{count: 1}}", f"{GOOD}gpus: {{worker: 1}}"),
    (f"{GOOD}mode: sync", f"{GOOD}update: sync"),
    (f"{GOOD}train: {{checkpoint: 600}}", f"{GOOD}train: {{checkpoint: {{seconds: 600}}}}"),
    (f"{GOOD}data: my-claim", f"{GOOD}data: {{claim: my-claim}}"),
    (
        f"{GOOD}extraValues: {{wroker: {{nodeSelecter: {{a: b}}}}}}",
        f"{GOOD}extraValues: {{worker: {{nodeSelector: {{a: b}}}}}}",
    ),
]
KEPT = [
    f"{GOOD}x: &x 1.10\nrun: {{id: *x}}",  # quoted, it would be another value elsewhere
    SCRIPT.replace("[%s]", "--n 3 --title it's"),  # where does which argument end?
    SCRIPT.replace("[%s]", r"--n 3 --pattern \d+"),
    f"{GOOD}flags: {{a: off}}",  # false, or the text?
    f"{GOOD}workers: 3\nwrokers: 4",
    f"{GOOD}batch_size: 3",  # belongs elsewhere
    f"{GOOD}optimizer: Adam",
    f"{GOOD}train: {{checkpoint: 017}}",
    f"{GOOD}wrokers: 3\nwrokers: 4",
]


@pytest.mark.parametrize(("text", "right"), SAFE)
def test_a_safe_fix_is_made_in_place(text: str, right: str) -> None:
    done = fixed("p.yaml", text.encode())

    assert done.raw.decode() == right
    assert done.left.findings == ()


@pytest.mark.parametrize(("text", "right"), GUESSES)
def test_a_guess_is_made_only_when_it_is_asked_for(text: str, right: str) -> None:
    assert fixed("p.yaml", text.encode()).raw.decode() == text

    done = fixed("p.yaml", text.encode(), unsafe=True)

    assert done.raw.decode() == right
    assert done.left.findings == ()


@pytest.mark.parametrize("text", KEPT)
def test_what_has_no_one_fix_stays(text: str) -> None:
    done = fixed("p.yaml", text.encode(), unsafe=True)

    assert done.raw.decode() == text
    assert repairable(done.left.findings, unsafe=True) == []  # none is promised


@pytest.mark.parametrize(("text", "right"), [*SAFE, *GUESSES])
def test_no_value_changes_its_meaning(text: str, right: str) -> None:
    before = check("p.yaml", text.encode())

    after = check("p.yaml", right.encode())

    assert repairable(before.findings, unsafe=True)
    assert after.values.data == before.values.data


def test_many_fixes_are_made_at_once() -> None:
    texts = [text.removeprefix(GOOD) for text, _ in SAFE if text.startswith(f"{GOOD}run: {{id: 1")]
    labels = "".join(f"    k{i}: {i}\n" for i in range(2_000))

    text = f"{GOOD}{texts[0]}\nextraValues:\n  commonLabels:\n{labels}"
    done = fixed("p.yaml", text.encode())

    assert (len(done.repaired), done.left.findings) == (2_001, ())


BAD = f"{GOOD}update: synchronous  # all together\nwrokers: 3\nrun: {{id: 1.10}}\nps: none\n"


@pytest.fixture
def bad(tmp_path: Path) -> Path:
    path = tmp_path / "p.yaml"
    path.write_text(BAD)
    path.chmod(0o640)
    return path


def test_fix_writes_the_file_and_tells_what_is_left(tf_cluster: Command, bad: Path) -> None:
    ran = tf_cluster("validate", "--fix", "p.yaml")

    assert ran.returncode == 1
    assert bad.read_text() == BAD.replace("synchronous", "sync").replace("1.10", "'1.10'")
    assert bad.stat().st_mode & 0o777 == 0o640
    assert [line.split(": ")[1] for line in ran.stdout.splitlines()] == ["TFC201", "TFC203"]
    assert ran.stderr == ("p.yaml: 2 findings fixed\n2 errors (--fix --unsafe-fixes mends 1)\n")


def test_fix_with_guesses_leaves_what_has_none(tf_cluster: Command, bad: Path) -> None:
    ran = tf_cluster("validate", "--fix", "--unsafe-fixes", "p.yaml")

    assert ran.returncode == 1
    assert "\nworkers: 3\n" in bad.read_text()
    assert ran.stderr == "p.yaml: 3 findings fixed\n1 error\n"


def test_diff_shows_the_fixes_and_writes_nothing(tf_cluster: Command, bad: Path) -> None:
    ran = tf_cluster("validate", "--diff", "p.yaml")

    assert ran.returncode == 1
    assert ran.stdout.splitlines() == [
        *("--- p.yaml", "+++ p.yaml (fixed)", "@@ -1,7 +1,7 @@"),
        *(f" {line}" for line in GOOD.splitlines()),
        *("-update: synchronous  # all together", "+update: sync  # all together"),
        *(" wrokers: 3", "-run: {id: 1.10}", "+run: {id: '1.10'}", " ps: none"),
    ]
    assert "p.yaml: 2 findings can be fixed\n" in ran.stderr
    assert bad.read_text() == BAD


def test_diff_of_what_would_be_good_is_exit_1(tf_cluster: Command) -> None:
    ran = tf_cluster("validate", "--diff", "-", stdin=f"{GOOD}evaluator: yes\n")

    assert (ran.returncode, ran.stderr) == (1, "<stdin>: 1 finding can be fixed\n")
    assert "+evaluator: true" in ran.stdout


def test_a_good_file_is_not_touched(tf_cluster: Command, tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text(GOOD)
    before = (tmp_path / "p.yaml").stat()

    ran = tf_cluster("validate", "--fix", "p.yaml")

    after = (tmp_path / "p.yaml").stat()
    assert (ran.returncode, ran.stderr) == (0, "1 file checked: good\n")
    assert (after.st_mtime_ns, after.st_ino) == (before.st_mtime_ns, before.st_ino)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--fix", "-"), "--fix writes into the file: name one (--diff takes standard input)"),
        (("--unsafe-fixes", "p.yaml"), "--unsafe-fixes goes with --fix or --diff"),
        (("--fix", "out.yaml"), "out.yaml is a link out of its folder: name the file that it"),
        (("--diff", "out.yaml"), "out.yaml is a link out of its folder: name the file that it"),
        (("--fix", "pipe"), "pipe: can't be read: a pipe, not a regular file"),
    ],
)
def test_what_can_not_be_fixed_is_refused(
    tf_cluster: Command, bad: Path, arguments: tuple[str, ...], words: str
) -> None:
    outside = bad.parent.parent / f"{bad.parent.name}.outside.yaml"
    outside.write_text(BAD)
    (bad.parent / "out.yaml").symlink_to(outside)
    subprocess.run(("mkfifo", "pipe"), cwd=bad.parent, check=True)

    ran = tf_cluster("validate", *arguments)

    assert (ran.returncode, words in ran.stderr) == (2, True), ran.stderr
    assert (bad.read_text(), outside.read_text()) == (BAD, BAD)


def test_one_file_that_can_not_be_read_stops_no_other(tf_cluster: Command, bad: Path) -> None:
    ran = tf_cluster("validate", "--fix", "nope.yaml", "p.yaml")

    assert ran.returncode == 2
    assert "nope.yaml: there is no such file" in ran.stderr
    assert "update: sync " in bad.read_text()


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        ("--fix p.yaml >&-", 2, "standard output can't be written: Bad file descriptor"),
        ("--diff p.yaml >&-", 2, "standard output can't be written: Bad file descriptor"),
        ("--diff p.yaml >/dev/full", 2, "standard output can't be written: No space left on"),
        ("--diff - <&-", 2, "<stdin>: can't be read: Bad file descriptor"),
        ("--diff /dev/zero", 2, "/dev/zero: can't be read: a device, not a regular file"),
        ("--fix /dev/stdin <p.yaml", 2, "/dev/stdin is a link out of its folder"),
        ("--diff /dev/stdin <p.yaml", 1, "/dev/stdin: 2 findings can be fixed"),
        ("--fix <(cat p.yaml)", 2, "can't be written"),
        ("--fix loop", 2, "loop: can't be read: Too many levels of symbolic links"),
        ("- - <p.yaml", 2, "- is standard input, which can be read once: name it once"),
    ],
)
def test_a_stream_or_file_that_is_none_is_one_line(
    bad: Path, line: str, code: int, words: str
) -> None:
    (bad.parent / "loop").symlink_to("loop")

    ran = subprocess.run(
        ("bash", "-c", f"{shlex.quote(sys.executable)} -m tf_cluster validate {line}"),
        cwd=bad.parent,
        capture_output=True,
        text=True,
        timeout=HANG_SECONDS,
        check=False,
    )

    assert ran.returncode == code, ran.stderr
    assert words in ran.stderr
    assert "Traceback" not in ran.stderr
    assert line.startswith("--fix p") or bad.read_text() == BAD


def test_a_files_name_is_one_line_of_the_diff(tf_cluster: Command, tmp_path: Path) -> None:
    name = "x\n-workers: 9\n::error ::y.yaml"
    (tmp_path / name).write_text(f"{GOOD}evaluator: yes\n")

    ran = tf_cluster("validate", "--diff", name)

    assert ran.returncode == 1
    lines = ran.stdout.splitlines()
    assert [line for line in lines if line[0] in "+-"][2:] == [
        "-evaluator: yes",
        "+evaluator: true",
    ]
    assert not [line for line in lines if line.lstrip().startswith("::")]
