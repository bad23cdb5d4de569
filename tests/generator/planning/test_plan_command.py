"""`tf-cluster plan` as people run it."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
import yaml
from tf_cluster.exits import RefusedError
from tf_cluster.planning.memory import read_program

from tests.generator.conftest import ROOT, Command

DIGITS = (ROOT / "values-examples" / "digits.params.yaml").read_text()
PROGRAM: dict[str, Any] = {
    "version": 1,
    "program": "tf_cluster_trainer.examples.digits:Digits",
    "flags": {"units": 32},
    "variables": [
        {
            "name": "table",
            "shape": [4_000_000, 64],
            "dtype": "float32",
            "bytes": 1_024_000_000,
            "trainable": True,
            "made": 0,
        }
    ],
    "slots": {"SGD": [], "Momentum": ["m"], "Adam": ["m", "v"], "Adagrad": ["a"]},
    "exampleBytes": 8,
    "examples": None,
}


def test_a_params_file_and_the_values_made_of_it_have_one_plan(
    tf_cluster: Command, tmp_path: Path
) -> None:
    (tmp_path / "a.yaml").write_text(DIGITS)
    assert tf_cluster("generate", "a.yaml", "-o", "a.values.yaml").returncode == 0

    of_params = tf_cluster("plan", "a.yaml")
    of_values = tf_cluster("plan", "a.values.yaml")

    assert of_params.returncode == of_values.returncode == 0, of_values.stderr
    assert of_params.stdout == of_values.stdout
    assert "Job digits-chief-" in of_params.stdout
    assert tf_cluster("plan", "-", stdin=DIGITS).stdout == of_params.stdout


def test_what_restarts_is_told_with_its_cause(tf_cluster: Command, tmp_path: Path) -> None:
    (tmp_path / "old.yaml").write_text(DIGITS)
    (tmp_path / "new.yaml").write_text(DIGITS + "workers: 3\n")
    (tmp_path / "page.yaml").write_text(DIGITS + "extraValues: {tensorboard: {enabled: true}}\n")

    restarted = tf_cluster("plan", "new.yaml", "--against", "old.yaml").stdout
    kept = tf_cluster("plan", "page.yaml", "--against", "old.yaml").stdout

    assert "because of\n  worker.replicas: 2 → 3\nRESUMES: /log/digits/1 goes on" in restarted
    assert "trains on; no task restarts." in kept
    assert "Created:\n  Deployment digits-tensorboard\n" in kept


def test_an_empty_rule_that_makes_an_attempt_is_its_cause(
    tf_cluster: Command, tmp_path: Path
) -> None:
    (tmp_path / "old.yaml").write_text(DIGITS)
    rule = "extraValues: {pod: {affinity: {podAntiAffinity: {}}}}\n"
    (tmp_path / "new.yaml").write_text(DIGITS + rule)

    told = tf_cluster("plan", "new.yaml", "--against", "old.yaml").stdout

    assert "because of\n  pod.affinity.podAntiAffinity: not there → {}\n" in told


def test_of_more_changes_than_are_tried_each_is_a_cause(
    tf_cluster: Command, tmp_path: Path
) -> None:
    for name in ("old", "new"):
        notes = "".join(f"{name}-{number}: {name}, " for number in range(101))
        more = f"extraValues: {{worker: {{podAnnotations: {{{notes}}}}}}}\n"
        (tmp_path / f"{name}.yaml").write_text(DIGITS + more)

    told = tf_cluster("plan", "new.yaml", "--against", "old.yaml", "--format", "json")

    against = json.loads(told.stdout)["against"]
    assert against["restarts"] and len(against["causes"]) == 202 and not against["others"]


def test_a_new_run_starts_afresh(tf_cluster: Command, tmp_path: Path) -> None:
    (tmp_path / "old.yaml").write_text(DIGITS)
    (tmp_path / "new.yaml").write_text(DIGITS + 'run: {id: "2"}\n')

    told = tf_cluster("plan", "new.yaml", "--against", "old.yaml", "--format", "json")

    against = json.loads(told.stdout)["against"]
    assert against["restarts"] and not against["resumes"]
    assert against["causes"] == ["run.id"]
    assert against["fresh"] == "its directory is /log/digits/2, not /log/digits/1"


def test_a_claim_that_is_there_does_not_change(tf_cluster: Command, tmp_path: Path) -> None:
    (tmp_path / "old.yaml").write_text(DIGITS + "log: {size: 20Gi}\n")
    (tmp_path / "new.yaml").write_text(DIGITS + "log: {size: 10Gi, class: fast}\n")

    told = tf_cluster("plan", "new.yaml", "--against", "old.yaml").stdout

    assert "REFUSED by Kubernetes: the StorageClass of the claim digits-log" in told
    assert "REFUSED by Kubernetes: storage.log.size of the claim digits-log" in told


def test_nodes_that_are_too_few_are_exit_1(tf_cluster: Command) -> None:
    few = tf_cluster("plan", "-", "--node", "cpu=1,memory=2Gi", stdin=DIGITS)
    enough = tf_cluster("plan", "-", "--node", "cpu=4,memory=8Gi", stdin=DIGITS)

    assert (few.returncode, enough.returncode) == (1, 0)
    assert "DOES NOT FIT on 1 node of cpu=1,memory=2Gi:" in few.stdout
    assert "FITS on 1 node of cpu=4,memory=8Gi: 1 used." in enough.stdout


def test_seconds_are_printed_whole(tf_cluster: Command) -> None:
    deadline = "run: {deadlineSeconds: 1209600}\n"
    delay = "extraValues: {cleanup: {delaySeconds: {success: 2592000}}}\n"

    told = tf_cluster("plan", "-", stdin=DIGITS + deadline + delay).stdout

    assert "after 1209600 s at the latest" in told
    assert "cleanup scales it to 0: 2592000 s after a success" in told


def test_ten_thousand_workers_are_a_short_plan(tf_cluster: Command) -> None:
    told = tf_cluster("plan", "-", stdin=DIGITS + "workers: 10000\nps: 500\n")
    config = tf_cluster(
        "plan", "-", "--tf-config", "worker-9999", stdin=DIGITS + "workers: 10000\n"
    )

    assert told.returncode == 0
    assert len(told.stdout) < 6_000
    assert "worker-0…9999" in told.stdout
    assert len(json.loads(config.stdout)["cluster"]["worker"]) == 10_000


def test_a_ps_that_is_too_small_for_the_program_is_told(
    tf_cluster: Command, tmp_path: Path
) -> None:
    (tmp_path / "program.json").write_text(json.dumps(PROGRAM))

    one = tf_cluster("plan", "-", "--program", "program.json", stdin=DIGITS + "ps: 1\n")
    two = tf_cluster("plan", "-", "--program", "program.json", stdin=DIGITS + "ps: 2\n")

    # Adam: 3 × 1,024 MB, 1.5 of each ps' share; of 4 GiB.
    assert one.returncode == 1
    assert "TOO LITTLE: ps-0 needs 4.76Gi of 4Gi" in one.stdout
    assert "TOO LITTLE: ps" not in two.stdout
    assert "TOO LITTLE: chief" not in one.stdout + two.stdout
    assert "700 MiB + 1.75 × copied" in two.stdout


@pytest.mark.parametrize(
    ("params", "told", "code"),
    [
        ("", "4 checkpoints at most and an export: 13Gi", 1),
        (
            "log: {size: 12Gi}\n",
            "TOO LITTLE: the claim asks for 12Gi (values: storage.log.size; params: log.size)",
            1,
        ),
        ("log: {size: 13Gi}\n", "of a state of 3Gi (the model is 1Gi)", 0),
        ("log: {claim: mine}\n", "an export: 13Gi", 0),
        (
            "log: {size: 99Gi}\nevaluator: {exportBest: {metric: accuracy, mode: max}}\n",
            "5 checkpoints at most and 5 exports: 20Gi",
            0,
        ),
        (
            "log: {size: 6Gi}\nextraValues: {train: {checkpoint: {keep: 1}}}\n",
            "2 checkpoints at most and an export: 7Gi",
            1,
        ),
    ],
)
def test_what_room_a_run_needs_on_the_log_volume_is_told(
    tf_cluster: Command, tmp_path: Path, params: str, told: str, code: int
) -> None:
    size = {"name": "table/embeddings", "shape": [1 << 20, 256], "bytes": 1 << 30}
    table = {**PROGRAM["variables"][0], **size}
    (tmp_path / "program.json").write_text(json.dumps({**PROGRAM, "variables": [table]}))
    ran = tf_cluster("plan", "-", "--program", "program.json", stdin=DIGITS + "ps: 2\n" + params)
    assert told in ran.stdout
    assert ("TOO LITTLE: the claim" in ran.stdout, ran.returncode) == (code == 1, code)


@pytest.mark.parametrize("example", ["interactive.values.yaml", "script.params.yaml"])
def test_of_what_writes_its_own_checkpoints_no_room_is_told(
    tf_cluster: Command, tmp_path: Path, example: str
) -> None:
    file = ROOT / "values-examples" / example
    asked = yaml.safe_load(file.read_text())
    runs = asked.get("program", {}).get("script") or PROGRAM["program"]
    told = {**PROGRAM, "program": runs, "flags": asked.get("flags") or {}}
    (tmp_path / "program.json").write_text(json.dumps(told))
    ran = tf_cluster("plan", str(file), "--release", "some", "--program", "program.json")
    assert "MEMORY by the program" in ran.stdout
    assert "ROOM ON /log" not in ran.stdout
    assert "TOO LITTLE: the claim" not in ran.stdout


def test_batches_of_examples_of_no_known_size_are_told_to_come_on_top(
    tf_cluster: Command, tmp_path: Path
) -> None:
    (tmp_path / "known.json").write_text(json.dumps(PROGRAM))
    (tmp_path / "not.json").write_text(json.dumps({**PROGRAM, "exampleBytes": None}))

    known = tf_cluster("plan", "-", "--program", "known.json", stdin=DIGITS).stdout
    not_known = tf_cluster("plan", "-", "--program", "not.json", stdin=DIGITS).stdout

    words = "The size of an example is not known: batches come on top."
    assert "× batch" in known and words not in known
    assert "× batch" not in not_known and words in not_known


def test_a_program_json_of_another_program_is_refused(tf_cluster: Command, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps({**PROGRAM, "program": "a:B"}))
    (tmp_path / "b.json").write_text(json.dumps(PROGRAM))

    module = tf_cluster("plan", "-", "--program", "a.json", stdin=DIGITS)
    flags = tf_cluster("plan", "-", "--program", "b.json", stdin=DIGITS + "flags: {units: 64}\n")
    same = tf_cluster("plan", "-", "--program", "b.json", stdin=DIGITS + "flags: {units: 32.0}\n")

    digits = "tf_cluster_trainer.examples.digits:Digits"
    assert (module.returncode, flags.returncode) == (2, 2)
    assert module.stderr == (
        f"tf-cluster: a.json is of a:B, and the training runs {digits}: "
        f"write it again: tf-trainer inspect {digits} -o a.json\n"
    )
    assert "b.json was made with flags.units 32, and the training has 64: " in flags.stderr
    assert "MEMORY by the program" in same.stdout


def test_what_is_no_program_json_is_refused_in_one_line(
    tf_cluster: Command, tmp_path: Path
) -> None:
    (tmp_path / "program.json").write_text('{"version": 2}')
    told = tf_cluster("plan", "-", "--program", "program.json", stdin=DIGITS)

    assert told.returncode == 2
    assert told.stderr == (
        "tf-cluster: program.json is no program.json of `tf-trainer inspect` (its version is 2, "
        "not 1): write it again: tf-trainer inspect MODULE:CLASS -o program.json\n"
    )


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b"", "line 1 is no JSON"),
        (b"name: digits\nworkers: 2\n", "line 1 is no JSON"),
        (b"\xff\xfe\xff", "it is no JSON that can be read"),
        (b"[" * 100_000, "it is no JSON that can be read"),
        (b"1" * 10_000, "it is no JSON that can be read"),
        (b"[]", "it is a list, not a mapping"),
        (b'{"a": 1}', "it has no version"),
        (b'{"version": 1, "program": "a:B"}', "it has no exampleBytes"),
    ],
)
def test_it_is_said_what_of_a_program_json_is_wrong(raw: bytes, why: str) -> None:
    with pytest.raises(RefusedError) as refused:
        read_program(raw, "a.json")

    assert f"a.json is no program.json of `tf-trainer inspect` ({why}): " in str(refused.value)


VARIABLE = PROGRAM["variables"][0]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"variables": {}}, "variables is a mapping, not a list"),
        ({"variables": [1]}, "variables[0] is a number, not a mapping"),
        ({"variables": [{"name": "a"}]}, "variables[0] has no shape"),
        (
            {"variables": [VARIABLE, {**VARIABLE, "shape": [math.inf]}]},
            "variables[1].shape[0] is Infinity, no whole number of 0 or more",
        ),
        (
            {"variables": [{**VARIABLE, "bytes": -1}]},
            "variables[0].bytes is -1, no whole number of 0 or more",
        ),
        ({"variables": [{**VARIABLE, "dtype": 1}]}, "variables[0].dtype is a number, not a text"),
        ({"slots": {"Adam": 2}}, "slots.Adam is a number, not a list"),
        ({"flags": []}, "flags is a list, not a mapping"),
        ({"program": None}, "program is empty, not a text"),
    ],
)
def test_it_is_said_which_part_of_a_program_json_is_wrong(change: dict[str, Any], why: str) -> None:
    test_it_is_said_what_of_a_program_json_is_wrong(json.dumps({**PROGRAM, **change}).encode(), why)


def test_a_diagram_has_every_role(tf_cluster: Command) -> None:
    told = tf_cluster("plan", "-", "--format", "mermaid", stdin=DIGITS).stdout

    assert told.startswith("flowchart LR\n")
    assert all(f'  {role}["' in told for role in ("chief", "worker", "ps", "cleanup"))
    assert "  worker --- log\n" in told


def test_values_without_a_name_need_the_release_s(tf_cluster: Command) -> None:
    values = "image: {repository: a}\nprogram: {module: 'a:B'}\nworker: {replicas: 3}\n"

    assert "say it with --release NAME" in tf_cluster("plan", "-", stdin=values).stderr
    told = tf_cluster("plan", "-", "--release", "mine", "-n", "team", stdin=values).stdout
    assert told.startswith("mine: 1 chief, 3 worker, 1 ps\nrelease mine in namespace team")


def test_a_file_with_findings_has_no_plan(tf_cluster: Command) -> None:
    told = tf_cluster("plan", "-", stdin=DIGITS + "workers: many\n")
    of_values = tf_cluster("plan", "-", stdin="worker: {replicas: 0}\nimage: {repository: a}\n")

    for one in (told, of_values):
        assert (one.returncode, one.stdout) == (1, "")
        assert "<stdin>:" in one.stderr


def test_nothing_of_a_file_is_printed_raw(tf_cluster: Command) -> None:
    odd = 'image: {repository: a}\nprogram: {module: "a:B"}\nnameOverride: "a\\e[2Jb"\n'
    for form in ("text", "json", "mermaid"):
        told = tf_cluster("plan", "-", "--release", "r", "--format", form, stdin=odd)

        assert "\x1b" not in told.stdout + told.stderr


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--release", "Foo_"), "the release's name is 'Foo_'"),
        (("--release", "a" * 54), "at most 53"),
        (("-n", "a.b"), "the namespace is 'a.b'"),
        (("--nodes", "3"), "say what each has with --node"),
        *(
            (("--tf-config", "chief-0", *more), f"prints its JSON and nothing else: drop {more[0]}")
            for more in (
                ("--format", "json"),
                ("--against", "old.yaml"),
                ("--node", "cpu=1,memory=1"),
                ("--program", "program.json"),
            )
        ),
        *(
            ((option, ""), f"{option} is empty: is a variable of the shell not set?")
            for option in ("--release", "--node", "--against", "--program")
        ),
    ],
)
def test_words_that_helm_refuses_or_nobody_reads_are_refused(
    tf_cluster: Command, words: tuple[str, ...], told: str
) -> None:
    ran = tf_cluster("plan", "-", *words, stdin=DIGITS)

    assert ran.returncode == 2
    assert told in ran.stderr
