"""What a pull request can carry: it reaches no secret, no terminal and no command of the CI."""

from __future__ import annotations

import json
import os
import re
import resource
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from tf_cluster.check import check
from tf_cluster.diff import difference
from tf_cluster.expand.values_file import is_foreign, values_text
from tf_cluster.findings.finding import MOST_FINDINGS
from tf_cluster.findings.formats import MOST_SHOWN, Format, report
from tf_cluster.fixes import fixed
from tf_cluster.params.schema_violations import WRONG_TYPE
from tf_cluster.printable import printable
from tf_cluster.yaml.writer import yaml_text

from tests.generator.conftest import Command
from tests.generator.seconds import is_too_long
from tests.slices import sliced
from tests.support.waiting import HANG_SECONDS

WROTE = "wrote v.yaml. Next: helm install a charts/tf-cluster -f v.yaml\n"
GOOD = "name: a\nimage: r/i:1\nprogram: {module: 'p.m:C'}\n"
SOURCE = "name: a\nimage: r/i:1\nprogram: {script: train.py, source: {files: [%s]}}\n"
SECRET = "AWS_SECRET=hunter2"


def found(text: str, folder: Path | None = None) -> list[str]:
    return report(check("p.yaml", text.encode(), folder=folder).findings, Format.TEXT).splitlines()


# Files that leave the folder


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with a params file's code, beside one with a secret."""
    (tmp_path / "secret").write_text(SECRET)
    folder = tmp_path / "checkout"
    (folder / "lib").mkdir(parents=True)
    (folder / "train.py").write_text("print()\n")
    (folder / "lib" / "real.py").write_text("x = 1\n")
    return folder


@pytest.mark.parametrize("target", ["../secret", "/proc/self/environ", "{tmp}/secret"])
def test_a_link_that_leaves_the_folder_is_refused(
    checkout: Path, tmp_path: Path, target: str
) -> None:
    (checkout / "env.py").symlink_to(target.format(tmp=tmp_path))

    checked = check("p.yaml", (SOURCE % "env.py").encode(), folder=checkout)

    assert report(checked.findings, Format.TEXT).splitlines() == [
        "p.yaml:3:46: TFC324: env.py is a link out of the folder of the params file (put the file "
        "itself beside or below the params file) [/program/source/files/0]"
    ]
    assert SECRET not in str(checked.values)


def test_a_folder_that_is_a_link_out_is_refused(checkout: Path, tmp_path: Path) -> None:
    (checkout / "out").symlink_to(tmp_path)

    assert "TFC324: out/secret is a link out of the folder" in "".join(
        found(SOURCE % "out/secret", checkout)
    )


def test_a_link_that_stays_in_the_folder_is_read(checkout: Path) -> None:
    (checkout / "train.py").unlink()
    (checkout / "train.py").symlink_to("lib/real.py")

    checked = check("p.yaml", (SOURCE % "train.py").encode(), folder=checkout)

    assert checked.findings == ()
    assert checked.values.data["program"]["source"]["files"] == {"train.py": "x = 1\n"}


def test_a_checkout_that_is_itself_reached_by_a_link_is_read(checkout: Path) -> None:
    (checkout.parent / "here").symlink_to(checkout)

    assert found(SOURCE % "train.py", checkout.parent / "here") == []


def test_a_loop_of_links_is_told(checkout: Path) -> None:
    (checkout / "a.py").symlink_to("b.py")
    (checkout / "b.py").symlink_to("a.py")

    (line,) = found(SOURCE % "a.py", checkout)

    assert "TFC324: a.py can't be read: Too many levels of symbolic links" in line


@pytest.mark.parametrize("options", [("--diff",), ("--check",), (), ("--force",)])
@pytest.mark.parametrize("target", ["../secret", "/proc/self/environ", "../nothing-there-yet"])
def test_an_output_that_is_a_link_out_of_its_folder_is_refused(
    tf_cluster: Command, checkout: Path, tmp_path: Path, target: str, options: tuple[str, ...]
) -> None:
    (checkout / "p.yaml").write_text(GOOD)
    (checkout / "values.yaml").symlink_to(target)

    ran = tf_cluster(
        "generate", "checkout/p.yaml", "-o", "checkout/values.yaml", *options, TOLD_TO_CI=SECRET
    )

    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr == (
        "tf-cluster: checkout/values.yaml is a link out of its folder: "
        "name the file that it leads to\n"
    )
    assert (tmp_path / "secret").read_text() == SECRET
    assert sorted(path.name for path in checkout.iterdir()) == [
        *("lib", "p.yaml", "train.py", "values.yaml"),
    ]


# What hangs or has no end


@pytest.mark.parametrize(
    ("file", "finding"),
    [
        ("pipe.py", "TFC324: pipe.py is a pipe, not a regular file"),
        ("zero.py", "TFC324: zero.py is a link out of the folder"),
        ("large.py", "TFC325: large.py has 9 MiB; all files together can have 512 KiB"),
    ],
)
def test_a_source_file_without_an_end_is_refused_at_once(
    tf_cluster: Command, checkout: Path, tmp_path: Path, file: str, finding: str
) -> None:
    os.mkfifo(checkout / "pipe.py")
    (checkout / "zero.py").symlink_to("/dev/zero")
    (checkout / "large.py").write_bytes(b"#" * (9 << 20))
    (checkout / "p.yaml").write_text(SOURCE % file)

    ran = tf_cluster("validate", "checkout/p.yaml", timeout=HANG_SECONDS)

    assert (ran.returncode, ran.stderr) == (1, "1 error\n")
    assert finding in ran.stdout


def _in_little_memory(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a shell line whose processes have 512 MiB each."""
    limit = 512 << 20
    return subprocess.run(
        ("bash", "-c", command),
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=HANG_SECONDS,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )


COMMAND = f"{shlex.quote(sys.executable)} -m tf_cluster"


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        ("validate /dev/zero", 2, "/dev/zero: can't be read: a device, not a regular file"),
        ("validate link.yaml", 2, "link.yaml: can't be read: a device, not a regular file"),
        ("validate pipe", 2, "pipe: can't be read: a pipe, not a regular file"),
        ("generate pipe", 2, "pipe: can't be read: a pipe, not a regular file"),
        ("run pipe", 2, "pipe: can't be read: a pipe, not a regular file"),
        ("generate a.yaml -o pipe --check", 2, "pipe: can't be read: a pipe, not a regular file"),
        ("generate a.yaml -o link.yaml --diff", 2, "link.yaml: can't be read: a device"),
        ("validate - </dev/zero", 1, "TFC108: a params file has at most 1000000 bytes"),
        ("validate large.yaml", 1, "TFC108: a params file has at most 1000000 bytes"),
        ("validate /dev/stdin <a.yaml", 0, "1 file checked: good"),
        ("validate <(cat a.yaml)", 0, "1 file checked: good"),
    ],
)
def test_input_without_an_end_is_refused_at_once(
    tmp_path: Path, line: str, code: int, words: str
) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link.yaml").symlink_to("/dev/zero")
    (tmp_path / "a.yaml").write_text(GOOD)
    with (tmp_path / "large.yaml").open("wb") as file:
        file.truncate(300 << 20)

    ran = _in_little_memory(f"{COMMAND} {line}", tmp_path)

    assert ran.returncode == code, ran.stderr
    assert words in ran.stdout + ran.stderr
    assert "Traceback" not in ran.stderr


# What is printed

FORGED = "\x1b[31mX\n::error ::pwn\r\x85##[add-mask]a\u2028\u202e\x9b\x7f"
UNSAFE = [*map(chr, range(0x20)), *map(chr, range(0x7F, 0xA0)), *"\u2028\u2029\u202e\u2066\ufeff"]
PLACES = {
    "an unknown key": "{forged}: 1\n",
    "a key twice": "flags: {{a: {{{forged}: 1, {forged}: 1}}}}\n",
    "a flag's name": "flags: {{{forged}: 1}}\n",
    "a wrong word": "update: {forged}\n",
    "a name": "name: {forged}\n",
    "an unknown key of extraValues": "extraValues: {{{forged}: 1}}\n",
    "a role's variable": "extraValues: {{worker: {{extraEnv: [{{name: {forged}}}]}}}}\n",
    "a wrong type": "workers: {forged}\n",
}


@pytest.mark.parametrize("form", list(Format))
@pytest.mark.parametrize("place", list(PLACES))
def test_nothing_that_a_file_says_is_printed_raw(place: str, form: Format) -> None:
    text = PLACES[place].format(forged=json.dumps(FORGED))
    findings = check("p.yaml", (GOOD + text).encode()).findings
    assert findings

    printed = report(findings, form)

    raw = [character for character in UNSAFE if character in printed.replace("\n", "")]
    assert raw == []
    assert "##[" not in printed
    for line in printed.splitlines():
        told = line.lstrip().startswith("::")
        assert told == (form is Format.GITHUB), line
        assert not told or line.startswith("::error file=p.yaml,line=")


@pytest.mark.parametrize("form", [Format.JSON, Format.SARIF])
def test_json_keeps_the_characters_that_it_escapes(form: Format) -> None:
    (finding,) = check("p.yaml", (GOOD + json.dumps(FORGED) + ": 1").encode()).findings

    document = json.loads(report([finding], form))

    said = document["findings"][0] if form is Format.JSON else document["runs"][0]["results"][0]
    pointers = (said.get("pointer"), str(said.get("locations")))
    assert pointers[0] == "/" + FORGED or repr("/" + FORGED) in pointers[1]


def test_a_link_in_a_sarif_message_is_text() -> None:
    findings = check("p.yaml", (GOOD + "'[a](https://e.com)': 1").encode()).findings

    message = json.loads(report(findings, Format.SARIF))["runs"][0]["results"][0]["message"]

    assert "](" not in message["text"].replace("\\](", "")


def test_a_long_key_is_cut_in_words() -> None:
    (line,) = found(GOOD + "k" * 100_000 + ": 1")

    assert len(line) < 500


@pytest.mark.parametrize("form", list(Format))
def test_a_files_name_is_printed_safely(tf_cluster: Command, tmp_path: Path, form: Format) -> None:
    name = "::error ::x\n::error ::y\x1b.yaml"
    (tmp_path / name).write_text(GOOD + "nope: 1\n")

    ran = tf_cluster("validate", "--format", form.value, name)

    assert ran.returncode == 1
    assert "\x1b" not in ran.stdout
    forged = [line for line in ran.stdout.splitlines() if line.lstrip().startswith("::error ::")]
    assert forged == []


def test_a_missing_files_name_is_printed_safely(tf_cluster: Command) -> None:
    ran = tf_cluster("validate", "a\n::error ::y\x1b.yaml")

    assert ran.returncode == 2
    assert ran.stderr == ("tf-cluster: a\\n::error ::y\\x1b.yaml: there is no such file\n")


def test_a_diff_is_printed_safely(tf_cluster: Command, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(GOOD)
    tf_cluster("generate", "a.yaml", "-o", "v.yaml")
    (tmp_path / "v.yaml").write_text(
        "::error ::x\n\x1b[31m\n  ::error ::y\r\nä\ttab\n" + (tmp_path / "v.yaml").read_text()
    )

    ran = tf_cluster("generate", "a.yaml", "-o", "v.yaml", "--diff")

    assert ran.returncode == 1
    assert "\x1b" not in ran.stdout
    assert "-ä\ttab\n" in ran.stdout
    assert not [line for line in ran.stdout.splitlines() if line.lstrip().startswith("::")]


def test_a_line_of_a_source_file_is_no_command_in_the_values(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("x = '''\n::error ::pwn\n  ::error ::pwn\n'''\n")

    checked = check("p.yaml", (SOURCE % "train.py").encode(), folder=tmp_path)
    text = values_text(checked.values, "p.yaml", "small")

    assert not [line for line in text.splitlines() if line.lstrip().startswith("::")]
    kept = yaml.safe_load(text)["program"]["source"]["files"]["train.py"]
    assert kept == (tmp_path / "train.py").read_text()


def test_an_older_command_is_none_in_the_values_and_means_the_same(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("# \\##vso[task.setvariable variable=PATH]/evil\nprint()\n")
    text = f'{SOURCE % "train.py"}extraValues: {{commonAnnotations: {{note: "##[error]v"}}}}'

    checked = check("p.yaml", text.encode(), folder=tmp_path)
    text = values_text(checked.values, "p.yaml", "small")

    assert not re.search(r"##[a-z]*\[", text)
    assert yaml.safe_load(text) == checked.values.data
    assert checked.values.data["commonAnnotations"] == {"note": "##[error]v"}


def test_an_older_command_is_none_in_a_key_of_the_values_either() -> None:
    """The chart's schema lets none through today."""
    document = {"####[error]k" + "k" * 200: 1}

    text = yaml_text(document)

    assert not re.search(r"##[a-z]*\[", text)
    assert yaml.safe_load(text) == document


@pytest.mark.parametrize("character", UNSAFE)
def test_printable_leaves_no_unsafe_character(character: str) -> None:
    assert character not in printable(f"a{character}b")
    assert printable("Grüße, 東京 😀 [a] ## 1") == "Grüße, 東京 😀 [a] ## 1"


@pytest.mark.parametrize("command", ["##[error]x", "###[error]x", "##vso[task.setvariable]x"])
def test_no_older_command_of_a_ci_runner_is_printed(command: str) -> None:
    assert command.lstrip("#") in printable(f"a {command}")
    assert "##" + command.lstrip("#") not in printable(f"a {command}")


# What hides in a line


@pytest.mark.parametrize(
    ("character", "name"),
    [
        ("\x85", "U+0085"),
        ("\u2028", "U+2028"),
        ("\u2029", "U+2029"),
        ("\r", "U+000D"),
        ("\x80", "U+0080"),
        ("\x9b", "U+009B"),
        ("\u202e", "U+202E"),
        ("\u2066", "U+2066"),
    ],
)
@pytest.mark.parametrize("where", ["# reviewed %s", "flags: {a: 'x%sy'}\n#"])
def test_a_character_that_hides_a_setting_is_refused_at_its_place(
    character: str, name: str, where: str
) -> None:
    hidden = where % (character + "extraValues: {security: {networkPolicy: {enabled: false}}}")

    (line,) = found(GOOD + hidden)

    column = where.index("%s") + 1
    assert line.startswith(f"p.yaml:4:{column}: TFC101: ") and name in line, line


def test_lines_that_end_as_on_windows_are_read() -> None:
    assert found(GOOD.replace("\n", "\r\n")) == []


@pytest.mark.parametrize(
    "name",
    ["x\nfullnameOverride: evil #.yaml", "x\r\x85\u2028y: 1.yaml", "ok\udcff.yaml"],
    ids=["newline", "others", "not UTF-8"],
)
def test_a_files_name_stays_in_its_comment(tf_cluster: Command, tmp_path: Path, name: str) -> None:
    (tmp_path / os.fsencode(name).decode("utf-8", "surrogateescape")).write_text(GOOD)

    ran = tf_cluster("generate", name, "-o", "v.yaml")

    assert (ran.returncode, ran.stderr) == (0, WROTE)
    text = (tmp_path / "v.yaml").read_text()
    assert yaml.safe_load(text)["fullnameOverride"] == "a"
    comments = [line for line in text.split("\n") if line.startswith("#")]
    assert text.split("\n")[:4] == comments
    assert not is_foreign(tmp_path / "v.yaml")


def test_a_new_params_files_name_stays_in_its_comments(tf_cluster: Command, tmp_path: Path) -> None:
    name = "x\nfullname: evil #.yaml"

    ran = tf_cluster("init", name)

    assert ran.returncode == 0
    assert yaml.safe_load((tmp_path / name).read_text()).keys() == {
        *("name", "preset", "image", "program", "train"),
    }


# Many findings


def _seconds(text: str) -> tuple[float, int]:
    start = time.process_time()
    findings = check("p.yaml", text.encode()).findings
    for form in Format:
        report(findings, form)
    return time.process_time() - start, len(findings)


MANY = {
    "booleans for texts": "k{i}: y\n",
    "unknown keys": "key{i}: 1\n",
    "the same key": "again: 1\n",
    "wrong values of flags": "  k{i}: {{}}\n",
    "wrong names of flags": "  k.{i}: 1\n",
    "unknown keys of extraValues": "  key{i}: 1\n",
    "labels of extraValues": "    k{i}: 1\n",
    "items of a list": "  - {i}\n",
    "references": "    $(A{i})\n",
    "flags said twice": "  k{i}: 1\n",
}
HEADS = {
    "wrong values of flags": "flags:\n",
    "wrong names of flags": "flags:\n",
    "unknown keys of extraValues": "extraValues:\n",
    "labels of extraValues": "extraValues:\n  commonLabels:\n",
    "items of a list": "extraValues:\n  image: {pullSecrets: [a]}\ndata:\n accessModes:\n",
    "references": "",
    "flags said twice": "flags:\n",
}


def _many(kind: str, count: int) -> str:
    lines = "".join(MANY[kind].format(i=i) for i in range(count))
    if kind == "references":
        return f"name: a\nimage: r/i:1\nprogram:\n  script: /a.py\n  args: ['\n{lines}    ']\n"
    if kind == "flags said twice":
        return f"{GOOD}flags:\n{lines}extraValues:\n  flags:\n{lines.replace('  ', '    ')}"
    return GOOD + HEADS.get(kind, "") + lines


@pytest.mark.parametrize("kind", sliced([*MANY], 4))
def test_the_time_grows_as_the_findings_do(kind: str) -> None:
    few, some = _seconds(_many(kind, 2_000))
    most, many = _seconds(_many(kind, 20_000))

    assert many >= 10 * some - 10 >= 2_000
    assert most < 20 * few + 0.5, f"{few:.2f} s for {some} findings, {most:.2f} s for {many}"


def _of_worker(key: str, line: str, count: int) -> str:
    lines = "".join(f"      {line.format(i=i)}\n" for i in range(count))
    return f"{GOOD}extraValues:\n  worker:\n    {key}:\n{lines}"


def _calls(text: str) -> int:
    """How many functions of Python are called for a file: no other work on the cores adds any."""
    calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        fixed("p.yaml", text.encode(), unsafe=True)
    finally:
        sys.setprofile(None)
    return calls


def test_a_misspelt_key_of_many_items_is_mended_at_once() -> None:
    few, many = (_of_worker("extraEnv", "- {{nam: A{i}, value: 1}}", n) for n in (1_500, 3_000))

    done = fixed("p.yaml", many.encode(), unsafe=True)

    assert (len(done.repaired), done.left.findings) == (6_000, ())
    assert _calls(many) < 2.3 * _calls(few)


def test_after_too_many_findings_of_a_schema_no_rule_meets_a_value_of_another_type() -> None:
    text = _of_worker("unknown", "k: 1", 0) + "      1\n    extraEvn: 3\n"
    text += "".join(f"    extraEvn{i}: 1\n" for i in range(MOST_FINDINGS + 100))

    findings = check("p.yaml", text.encode()).findings

    assert len(findings) > MOST_FINDINGS


@pytest.mark.parametrize("items", ["{{a: {i}}}", "[a, {i}]"])
def test_equal_items_are_found_in_one_pass(items: str) -> None:
    text = f"{GOOD}data:\n  accessModes:\n" + "".join(
        f"  - {items.format(i=i)}\n" for i in range(8_000)
    )
    start = time.process_time()

    assert len(check("p.yaml", text.encode()).findings) >= 8_000

    assert not is_too_long(time.process_time() - start)


@pytest.mark.parametrize(
    "text",
    [
        f"a: b: c\nx: {'{' * 400_000}\n",
        f"a: b: c\nx: {'{{ ' * 200_000}\n",
        f"a: b: c\n{'- ' * 400_000}\n",
        f"name: a\nimage: r/i:1\nprogram: {{script: /a.py, args: ['{'$(' * 400_000}']}}\n",
        f"flags:\n  ? {'a' * 400_000}\n  : [{'[],' * 60_000}]\n",
        f"flags:\n  ? {'a' * 400_000}\n  : {{{'k: 1, ' * 60_000}}}\n",
        f"? {'a' * 900_000}\n: 1\n",
    ],
    ids=["{", "{{", "-", "$(", "below a key", "twice below a key", "a key"],
)
def test_a_long_line_or_key_costs_no_time(text: str, tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text(text)

    ran = _in_little_memory(f"{COMMAND} validate p.yaml --format json", tmp_path)

    assert ran.returncode in (0, 1), ran.stderr
    assert len(ran.stdout) < 10_000


def test_a_finding_below_many_long_keys_is_short() -> None:
    keys = "".join(f"{' ' * i}? {'k' * 1_000}\n{' ' * i}:\n" for i in range(1, 30))
    text = f"{GOOD}extraValues:\n{keys}{' ' * 31}[{'yes, ' * 40_000}]\n"

    findings = check("p.yaml", text.encode()).findings

    assert len(findings) > MOST_FINDINGS
    assert all(len(finding.message) < 500 for finding in findings)


def test_a_diff_of_many_lines_costs_no_time(tf_cluster: Command, checkout: Path) -> None:
    (checkout / "train.py").write_text("".join(f"{i % 120}\n" for i in range(100_000)))
    (checkout / "p.yaml").write_text(SOURCE % "train.py")
    tf_cluster("generate", "checkout/p.yaml", "-o", "checkout/v.yaml")
    (checkout / "train.py").write_text("".join(f"{i * 7 % 120}\n" for i in range(100_000)))

    ran = tf_cluster(
        *("generate", "checkout/p.yaml", "-o", "checkout/v.yaml", "--diff"), timeout=HANG_SECONDS
    )

    assert ran.returncode == 1
    assert ran.stdout == (
        "checkout/v.yaml: 99999 lines from line 15 on become 99999: too many to compare\n"
    )


@pytest.mark.parametrize("line", [0, 2, 5_000, 19_998, 19_999])
def test_one_line_of_many_is_a_diff_that_names_it(line: int, tmp_path: Path) -> None:
    before = [f"{i % 120}\n" for i in range(20_000)]
    after = [*before[:line], "new\n", *before[line + 1 :]]
    (tmp_path / "v.yaml").write_text("".join(before))

    told = difference(tmp_path / "v.yaml", "".join(after)).splitlines(keepends=True)

    lines = range(max(0, line - 3), min(20_000, line + 4))
    at = f"{lines[0] + 1},{len(lines)}"
    assert told[2:] == [
        f"@@ -{at} +{at} @@\n",
        *(f" {before[i]}" for i in lines if i < line),
        *(f"-{before[line]}", "+new\n"),
        *(f" {before[i]}" for i in lines if i > line),
    ]


@pytest.mark.parametrize("options", ["", "--diff", "--check"])
def test_a_huge_output_is_refused_and_no_half_copy_is_left(tmp_path: Path, options: str) -> None:
    (tmp_path / "p.yaml").write_text(GOOD)
    (tmp_path / "v.yaml").touch()
    os.truncate(tmp_path / "v.yaml", 1 << 30)
    limit = "ulimit -f 1000; " if not options else ""  # KiB: what is left on a disk

    ran = _in_little_memory(f"{limit}{COMMAND} generate p.yaml -o v.yaml {options}", tmp_path)

    assert (ran.returncode, ran.stdout) == (2, "")
    why = "v.yaml: more than 16 MiB: not a values file"
    kept = "v.yaml: can't be kept as v.yaml.orig: File too large"
    assert ran.stderr == f"tf-cluster: {why if options else kept}\n"
    assert {path.name for path in tmp_path.iterdir()} == {"p.yaml", "v.yaml"}
    assert (tmp_path / "v.yaml").stat().st_size == 1 << 30


@pytest.fixture(scope="module")
def many_findings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("many")
    (folder / "p.yaml").write_text(_many("unknown keys", 1_500))
    yield folder


def test_a_thousand_findings_are_shown_and_the_others_counted() -> None:
    findings = check("p.yaml", _many("unknown keys", 1_500).encode()).findings
    assert (len(findings), MOST_SHOWN) == (1_500, 1_000)

    text = report(findings, Format.TEXT).splitlines()
    github = report(findings, Format.GITHUB).splitlines()
    as_json = json.loads(report(findings, Format.JSON))
    (sarif,) = json.loads(report(findings, Format.SARIF))["runs"]

    assert (len(text), text[-1]) == (1_001, "500 more findings are not shown")
    assert (len(github), github[-1]) == (
        1_001,
        "::error title=tf-cluster::500 more findings are not shown",
    )
    assert (len(as_json["findings"]), as_json["notShown"]) == (1_000, 500)
    (notice,) = sarif["invocations"][0]["toolExecutionNotifications"]
    assert len(sarif["results"]) == 1_000
    assert notice["message"]["text"] == "500 more findings are not shown"


def test_the_count_of_errors_is_of_all_of_them(many_findings: Path, tf_cluster: Command) -> None:
    ran = tf_cluster("validate", str(many_findings / "p.yaml"))

    assert (ran.returncode, ran.stderr) == (1, "1500 errors\n")


def test_a_large_value_is_left_out_of_json() -> None:
    large = "x" * 5_000
    findings = check("p.yaml", (GOOD + f"workers: {large}").encode()).findings

    (told,) = json.loads(report(findings, Format.JSON))["findings"]

    assert told["code"] == WRONG_TYPE
    assert told["value"] is None
