"""What `validate` accepts, Helm, the API server and a task accept, too."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from tf_cluster.check import check
from tf_cluster.checks.config_size import MOST_BYTES
from tf_cluster.expand.expand import preset_name
from tf_cluster.expand.go_json import json_bytes
from tf_cluster.expand.values_file import values_text
from tf_cluster.findings.finding import errors
from tf_cluster.params.schema_files import params_schema
from tf_cluster.pointer import json_pointer

from tests.generator.conftest import ROOT

CHART = ROOT / "charts" / "tf-cluster"
LINES = "\\u2028" * 150_000
GOOD = "name: demo\nimage: localhost/x:1\nprogram: {module: a:B}\n"
SCRIPT = "name: demo\nimage: localhost/x:1\nprogram: {script: /data/x.py, %s}\n"
LONG_SCRIPT = (SCRIPT % "ps: server").replace("demo", "n" * 40)
HASH, COMMIT = "ab" * 32, "cd" * 20


def url(address: str, form: str = "url, sha256") -> str:
    key, proof = form.split(", ")
    source = {key: address, proof: HASH if key == "url" else COMMIT}
    program = {"module": "a:B", "source": source}
    return yaml.safe_dump({"name": "demo", "image": "localhost/x:1", "program": program})


def _refused() -> list[tuple[str, str, str]]:
    """Texts of params files, each with the code and the pointer of its one finding."""
    cases = [
        *(
            (f'{GOOD}flags: {{a: "{c}"}}', "TFC330", "/flags/a")
            for c in ("\\x7f", "\\x80", "\\x85", "\\x9f", "\\uFFFE", "\\uFFFF")
        ),
        (f'{GOOD}flags: {{a: [b, "\\x7f"]}}', "TFC330", "/flags/a/1"),
        (f'{GOOD}extraValues: {{flags: {{a: "\\x7f"}}}}', "TFC330", "/extraValues/flags/a"),
        (SCRIPT % 'args: [x, "a\\x7fb"]', "TFC330", "/program/args/1"),
        (SCRIPT % 'args: ["a\\0b"]', "TFC330", "/program/args/0"),
        (
            f'{GOOD}extraValues: {{program: {{path: "/a\\0b"}}}}',
            "TFC330",
            "/extraValues/program/path",
        ),
        (SCRIPT % 'path: "/a\\0b"', "TFC206", "/program/path"),
        (f"{LONG_SCRIPT}workers: 1200", "TFC333", "/workers"),
        (f"{LONG_SCRIPT}workers: 200\nps: 1000", "TFC333", "/ps"),
        (
            f"{LONG_SCRIPT}extraValues: {{worker: {{replicas: 1200}}}}",
            "TFC333",
            "/extraValues/worker/replicas",
        ),
        (f"{GOOD}flags: {{b: 1, a: {'<' * 500_000}}}", "TFC331", "/flags/a"),
        (f'{GOOD}flags: {{a: "{LINES}", b: "{"&" * 50_000}"}}', "TFC331", "/flags/a"),
        (SCRIPT % f"args: [a, '{'>' * 200_000}']", "TFC331", "/program/args"),
        (
            f"{GOOD}log: {{volume: pv1, class: ''}}\ndata: {{volume: pv1, class: ''}}",
            "TFC332",
            "/log/volume",
        ),
        (
            f"{GOOD}data: {{volume: pv1, class: ''}}\n"
            "extraValues: {storage: {log: {volumeName: pv1, storageClassName: ''}}}",
            "TFC332",
            "/extraValues/storage/log/volumeName",
        ),
        *(
            (f"{GOOD}flags: {{{key}: 1}}", "TFC206", f"/flags/{key}")
            for key in ("__x", "__", "__1")
        ),
        (f"{GOOD}train: {{steps: 1e25}}", "TFC205", "/train/steps"),
        (f"{GOOD}train: {{seed: 1e25}}", "TFC205", "/train/seed"),
        (
            f"{GOOD}train: {{optimizer: {{schedule: {{warmupSteps: 1e25}}}}}}",
            "TFC205",
            "/train/optimizer/schedule/warmupSteps",
        ),
        (f"{GOOD}flags: {{a: 9007199254740993}}", "TFC109", "/flags/a"),
        (f"{GOOD}flags: {{a: [1, -9007199254740993]}}", "TFC109", "/flags/a/1"),
        (f"{GOOD}run: {{attempt: 9007199254740993}}", "TFC205", "/run/attempt"),
        (
            f"{GOOD}flags: {{a: &s '{'x' * 200_000}', b: *s, c: *s, d: *s, e: *s, f: *s}}",
            "TFC108",
            "/flags/e",
        ),
    ]
    addresses = ("http://[::1/y", "http://a:b:c/y", "https://x/y\nz", "http://:80/y")
    addresses += (
        "http://[:::1]/y",
        "http://a:99999/y",
        "http://a:0/y",
        "http://[a/y",
        "http://ä/y",
    )
    for form in ("url, sha256", "git, commit"):
        pointer = "/program/source/" + form.partition(",")[0]
        cases += [(url(address, form), "TFC206", pointer) for address in addresses]
    return cases


REFUSED = _refused()


@pytest.mark.parametrize(("text", "code", "pointer"), REFUSED, ids=range(len(REFUSED)))
def test_what_is_refused_later_is_refused_here(text: str, code: str, pointer: str) -> None:
    findings = errors(check("p.yaml", text.encode()).findings)

    assert [(f.code, json_pointer(f.pointer)) for f in findings] == [(code, pointer)]
    assert len(findings[0].message + findings[0].fix) < 400


ACCEPTED = [
    f'{GOOD}flags: {{a: "\\x01\\t\\n\\x1b\\0\\u2028\\ufeff"}}',
    SCRIPT % 'args: ["a\\nb\\x01"]',
    f"{GOOD}flags: {{a: {'<' * 160_000}}}",
    f"{GOOD}data: {{claim: one}}\nlog: {{claim: one}}",
    f"{GOOD}data: {{volume: one, class: ''}}\nlog: {{volume: two, class: ''}}",
    f"{GOOD}flags: {{_: 1, _x: 2, a__b: 3, _1: 4}}",
    f"{GOOD}flags: {{a: 9007199254740991, b: 1e15}}",
    f"{GOOD}flags: {{a: {'x' * 5_000}, b: 1e-7, c: [1.5, 1e15, 'ä\\x01\"']}}",
    *(
        url(address, form)
        for address in ("http://[::1]:80/y", "https://my_host.example:8443/a@b?c=d", "http://h./x")
        for form in ("url, sha256", "git, commit")
    ),
]


def config_map(helm: str, text: str, folder: Path) -> dict[str, Any]:
    """The ConfigMap of a params file, as the real helm makes it."""
    checked = check("p.yaml", text.encode(), folder=folder)
    assert checked.findings == ()
    values = folder / "values.yaml"
    values.write_text(values_text(checked.values, "p.yaml", preset_name(checked.document.data)))
    ran = subprocess.run(
        (
            *(helm, "template", "r", str(CHART), "-f", str(values), "--namespace", "n" * 63),
            *("--show-only", "templates/config/config-configmap.yaml"),
        ),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[:2_000]
    document = yaml.load(ran.stdout, Loader=yaml.CSafeLoader)
    assert isinstance(document, dict)
    return document


@pytest.mark.parametrize("text", ACCEPTED, ids=range(len(ACCEPTED)))
def test_what_is_accepted_is_rendered_and_fits(text: str, helm: str, tmp_path: Path) -> None:
    data = config_map(helm, text, tmp_path)["data"]

    assert sum(len(part.encode()) for part in data.values()) <= MOST_BYTES
    flags = yaml.safe_load(text).get("flags", {})
    if flags and not any(isinstance(value, list) for value in flags.values()):
        assert json.loads(data["training.json"])["flags"].keys() == flags.keys()


def test_the_largest_configuration_that_is_accepted_fits(helm: str, tmp_path: Path) -> None:
    def refused(letters: int) -> bool:
        findings = check("p.yaml", f"{GOOD}flags: {{a: {'<' * letters}}}".encode()).findings
        return any(finding.code == "TFC331" for finding in findings)

    low, high = 1, 200_000
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if refused(middle) else (middle, high)
    data = config_map(helm, f"{GOOD}flags: {{a: {'<' * low}}}", tmp_path)["data"]

    size = sum(len(part.encode()) for part in data.values())
    assert MOST_BYTES - 10_000 < size <= MOST_BYTES


@pytest.mark.parametrize("name", ["train.py", "lib/other.py"])
def test_a_character_that_helm_refuses_is_found_in_a_source_file(tmp_path: Path, name: str) -> None:
    (tmp_path / "lib").mkdir()
    for file in ("train.py", "lib/other.py"):
        (tmp_path / file).write_text("x = '\x7f'\n" if file == name else "")
    text = SCRIPT.replace("/data/x.py", "train.py") % "source: {files: [train.py, ./lib/other.py]}"

    findings = check("p.yaml", text.replace("./", "").encode(), folder=tmp_path).findings

    index = 0 if name == "train.py" else 1
    assert [(f.code, f.pointer) for f in findings] == [
        ("TFC330", ("program", "source", "files", index))
    ]


def test_a_source_and_a_flag_that_fit_alone_do_not_fit_together(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("#" * 500_000)
    text = GOOD.replace("a:B", "'train:B', source: {files: [train.py]}")

    findings = check("p.yaml", f"{text}flags: {{a: {'x' * 600_000}}}".encode(), folder=tmp_path)

    assert [f.code for f in findings.findings] == ["TFC331"]


def test_many_flags_that_are_too_large_together_are_told_together() -> None:
    flags = ", ".join(f"k{i}: '{'<' * 10}'" for i in range(15_000))

    (finding,) = check("p.yaml", f"{GOOD}flags: {{{flags}}}".encode()).findings

    assert (finding.code, finding.pointer) == ("TFC331", ("flags",))
    assert finding.message == (
        "what the tasks are told has 1286 KiB, and a ConfigMap holds 1024 KiB; "
        "1278 KiB of them are flags"
    )


def test_a_source_is_measured_as_go_prints_it(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("\u2028" * 150_000)
    text = GOOD.replace("a:B", "'train:B', source: {files: [train.py]}")

    (finding,) = check("p.yaml", text.encode(), folder=tmp_path).findings

    assert finding.code == "TFC325"
    assert "has 878 KiB as JSON" in finding.message


def test_json_is_measured_as_helm_prints_it(helm: str, tmp_path: Path) -> None:
    flag = "".join(map(chr, [*range(0x7F), *range(0xA0, 0x180), 0x2028, 0x2029, 0x1F600]))

    written = json.dumps({"a": flag}).replace("\\u0000", "\\0").replace("\\ud83d\\ude00", "😀")
    document = config_map(helm, f"{GOOD}flags: {written}", tmp_path)

    line = next(
        x for x in document["data"]["training.json"].split("\n") if x.startswith('    "a":')
    )
    assert len(line.encode()) == len('    "a": ') + json_bytes(flag)


def test_every_whole_number_of_the_params_has_a_greatest() -> None:
    """Beyond 2^53 Helm changes numbers without a word."""

    def whole_numbers(node: Any, path: str) -> list[str]:
        if not isinstance(node, dict):
            return []
        unbound = [path] if node.get("type") == "integer" and "maximum" not in node else []
        return unbound + [p for key in node for p in whole_numbers(node[key], f"{path}/{key}")]

    assert whole_numbers(params_schema(), "") == []
