"""`tf-cluster convert`: files, choices, and what can't be read."""

from __future__ import annotations

import json
import resource
import time
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml
from tf_cluster.check import check
from tf_cluster.convert.convert import convert
from tf_cluster.exits import RefusedError
from tf_cluster.findings.finding import errors

from tests.generator.conftest import Command
from tests.generator.convert.drawn import Drawing
from tests.generator.convert.test_convert import IMAGE, tfjob
from tests.generator.seconds import is_too_long


def test_it_writes_the_params_file_and_tells_the_rest(tf_cluster: Command, tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(tfjob(spec={"runPolicy": {"ttlSecondsAfterFinished": 60}}))

    done = tf_cluster("convert", "job.yaml", "-o", "mnist.params.yaml", "--image", IMAGE)

    assert (done.returncode, done.stdout) == (0, "")
    assert "job.yaml:4: metadata.name -> name\n" in done.stderr
    assert "to do: spec.runPolicy.ttlSecondsAfterFinished: 60: a release stays" in done.stderr
    assert done.stderr.splitlines()[-1] == "3 mapped, 2 left out, 2 to do"
    assert tf_cluster("validate", "mnist.params.yaml").returncode == 0
    again = tf_cluster("convert", "job.yaml", "-o", "mnist.params.yaml")
    assert (again.returncode, again.stderr) == (
        2,
        "tf-cluster: mnist.params.yaml exists: --force overwrites it\n",
    )


def test_the_report_as_json(tf_cluster: Command) -> None:
    done = tf_cluster("convert", "-", "--format", "json", stdin=tfjob())

    report = json.loads(done.stderr)
    assert (report["version"], report["name"], report["file"]) == (1, "mnist", "stdin")
    assert report["fields"][0] == {
        "fate": "maps",
        "line": 4,
        "field": "/metadata/name",
        "key": "name",
        "words": "",
    }
    assert yaml.safe_load(done.stdout)["name"] == "mnist"


def test_it_does_not_write_over_the_manifest(tf_cluster: Command, tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(tfjob())

    done = tf_cluster("convert", "job.yaml", "-o", "job.yaml", "--force")

    assert done.returncode == 2
    assert (tmp_path / "job.yaml").read_text() == tfjob()


def test_validate_names_the_command(tf_cluster: Command) -> None:
    done = tf_cluster("validate", "-", stdin=tfjob())

    assert "a TFJob (kubeflow.org/v1), not a params file (`tf-cluster convert`" in done.stdout


def refused(text: str, name: str | None = None) -> str:
    """Why a file is refused."""
    with pytest.raises(RefusedError) as refusal:
        convert("job.yaml", text.encode(), name)
    return str(refusal.value)


def several(*names: str, namespace: str | None = None) -> str:
    """A file of TFJobs."""
    space: dict[str, Any] = {"namespace": namespace} if namespace else {}
    return "---\n".join(tfjob(name=name, **space) for name in names)


def test_of_several_a_name_chooses_one() -> None:
    text = several("one", "two") + "---\n" + several("one", namespace="b") + "...\n# the end\n"

    assert convert("job.yaml", text.encode(), "two").name == "two"
    assert convert("job.yaml", text.encode(), "b/one").name == "one"
    assert refused(text).startswith(
        "job.yaml has 3 TFJobs: choose one by --name: one (line 1), two "
    )
    assert "has no TFJob three: it has one (line 1), two (line" in refused(text, "three")
    assert "has 2 TFJobs of the name one, on lines 1, " in refused(text, "one")


def test_a_line_of_a_later_document_is_the_files() -> None:
    text = several("one", "two")

    entries = convert("job.yaml", text.encode(), "two").entries

    line = next(entry.line for entry in entries if entry.key == "name")
    assert text.splitlines()[line - 1].strip() == "name: two"


def test_lists_and_json_are_read() -> None:
    job: dict[str, Any] = yaml.safe_load(tfjob())
    listed = {"apiVersion": "v1", "kind": "List", "items": [job]}
    bare = {key: value for key, value in job.items() if key not in ("kind", "apiVersion")}
    typed = {"apiVersion": "kubeflow.org/v1", "kind": "TFJobList", "items": [bare]}

    for one in (job, listed, typed):
        for text in (json.dumps(one, indent=4), json.dumps(one), yaml.safe_dump(one)):
            assert "script: /opt/train.py" in convert("job.yaml", text.encode()).text


def test_another_document_that_can_not_be_read_is_no_hindrance() -> None:
    text = tfjob() + "---\nkind: ConfigMap\ndata: {<<: {a: b}}\n"

    assert convert("job.yaml", text.encode()).name == "mnist"
    assert "not a manifest that can be read" in refused(text.replace("ConfigMap", "TFJob"))


UNREADABLE = (
    ("", "job.yaml:1:1: not a manifest that can be read: the file is empty"),
    ("# only a comment\n", "job.yaml:1:1: not a manifest that can be read: the file is empty"),
    ("a: [", "job.yaml:2:1: not a manifest that can be read: not YAML"),
    ("- a\n", "job.yaml:1:1: not a manifest that can be read: the file holds a list"),
    ("apiVersion: v1\nkind: List\nitems: null\n", "job.yaml: no TFJob in this file: it has none"),
    ("apiVersion: v1\nkind: List\nitems: [1]\n", "job.yaml: no TFJob in this file: it has none"),
    (
        "name: a\nprogram: {script: /x.py}\n",
        "job.yaml: no TFJob in this file: it is a params file, which is what convert makes: "
        "`tf-cluster validate` checks it",
    ),
    (
        "fullnameOverride: a\nworker: {replicas: 2}\n",
        "job.yaml: no TFJob in this file: it is a values file of the chart, which `tf-cluster "
        "plan` reads",
    ),
    ("odd: 1\n", "job.yaml: no TFJob in this file: it has a mapping without a kind"),
    ("apiVersion: v1\nkind: Pod\n", "job.yaml: no TFJob in this file: it has Pod"),
    ("kind: TFJob\napiVersion: kubeflow.org/v2\n", "job.yaml:2: a TFJob of apiVersion kubeflow"),
    ("kind: TFJob\napiVersion: kubeflow.org/v1\n", "job.yaml:1: this TFJob has no Worker"),
    (tfjob({"PS": {}}), "job.yaml:5: this TFJob has no Worker, Chief or Master"),
    (tfjob({"Worker": {"replicas": 0}}), "job.yaml:5: this TFJob has no Worker"),
    (
        tfjob({"Worker": {"replicas": "x"}}),
        "job.yaml:8: spec.tfReplicaSpecs.Worker.replicas is x, not a number of pods",
    ),
    ("kind: TFJob\nkind: TFJob\n", "job.yaml:2:1: not a manifest that can be read: the key 'kind'"),
    ("a: 1\n---\nb: {<<: 1}\n", "job.yaml:3:5: not a manifest that can be read: merge keys"),
    ("a: 1\n---\n" * 300, "job.yaml: over 200 documents"),
    (" " * 1_000_001, "job.yaml: longer than 1000000 bytes"),
    (tfjob({"Worker": {"args": ["x"] * 4000}}), "job.yaml:1: the TFJob mnist is too large"),
    (tfjob({"Worker": {"args": ["x" * 300_000]}}), "job.yaml:1: the TFJob mnist is too large"),
)


@pytest.mark.parametrize(("text", "why"), UNREADABLE, ids=lambda one: one[:40])
def test_what_is_no_tfjob_is_refused_in_one_line(text: str, why: str) -> None:
    assert refused(text).startswith(why)
    assert "\n" not in refused(text)


ODD: tuple[Any, ...] = (None, 5, True, "x", [], {}, [None], [5], {"a": None}, {"name": 5}, [[[]]])
PLACES = (
    *("metadata", "metadata.name", "metadata.labels", "spec.runPolicy", "spec.tfReplicaSpecs"),
    "spec.runPolicy.backoffLimit",
    *(f"spec.tfReplicaSpecs.Worker{rest}" for rest in ("", ".template", ".template.spec")),
    *(
        f"spec.tfReplicaSpecs.Worker.template.spec.{key}"
        for key in ("containers", "volumes", "initContainers", "tolerations", "affinity")
    ),
    *(
        f"spec.tfReplicaSpecs.Worker.template.spec.containers.0{key}"
        for key in (
            *("", ".name", ".image", ".command", ".args", ".workingDir", ".env", ".env.0"),
            *(".volumeMounts", ".volumeMounts.0", ".resources", ".resources.limits", ".ports"),
            ".securityContext",
        )
    ),
)


@pytest.mark.parametrize("place", PLACES)
def test_no_odd_value_brings_it_down(place: str) -> None:
    container = {
        "env": [{"name": "A", "value": "b"}],
        "resources": {"limits": {"cpu": 1}},
        "volumeMounts": [{"name": "v", "mountPath": "/v"}],
        "pod": {"volumes": [{"name": "v", "emptyDir": {}}]},
    }
    for odd in ODD:
        job = yaml.safe_load(tfjob({"Worker": container}, {"runPolicy": {"suspend": False}}))
        inner = job
        *parts, last = place.split(".")
        for part in parts:
            inner = inner[int(part) if isinstance(inner, list) else part]
        if isinstance(inner, list):
            inner[int(last)] = odd
        else:
            inner[last] = odd
        try:
            convert("job.yaml", json.dumps(job).encode())
        except RefusedError as refusal:
            assert str(refusal).startswith("job.yaml"), (place, odd)


def test_no_change_of_its_bytes_brings_it_down() -> None:
    random = Random(18)
    for _ in range(60):
        raw = bytearray(json.dumps(Drawing(random.randrange(1000)).job(), indent=1).encode())
        for _ in range(random.randint(1, 6)):
            at = random.randrange(len(raw))
            raw[at : at + random.randint(0, 8)] = random.choice(
                (b"", b"{", b"]", b'"', b"\n---\n", b": null", b"\x00", b"\xff", b"*a", b"- ")
            )
        try:
            made = convert("job.yaml", bytes(raw), image=IMAGE)
        except RefusedError as refusal:
            assert str(refusal).startswith("job.yaml"), refusal
        else:
            assert errors(check("p.yaml", made.text.encode()).findings) == []


LARGE: dict[str, dict[str, Any]] = {
    "refused variables": {"env": [{"name": f"TF_CLUSTER_{i}", "value": "x"} for i in range(950)]},
    "odd variables": {"env": [{"name": f"A{i}", "value": 5} for i in range(950)]},
    "references": {"args": ["$(" * 60 for _ in range(1500)]},
    "filled in": {
        "env": [{"name": f"E{i}", "value": f"$(E{i - 1})$(E{i - 1})"} for i in range(900)],
        "args": ["$(E899)"],
    },
    "unknown fields": {f"k{i}": i for i in range(2900)},
    "odd labels of nodes": {"pod": {"nodeSelector": {f"k{i}": "_" for i in range(2900)}}},
}


@pytest.mark.parametrize("what", LARGE)
def test_a_large_file_takes_no_longer_than_another(what: str) -> None:
    text = tfjob({"Worker": LARGE[what]}).encode()
    before = time.process_time()

    convert("job.yaml", text)

    assert not is_too_long(time.process_time() - before)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 1_000_000


def test_what_is_printed_of_a_file_is_escaped(tf_cluster: Command) -> None:
    args = ["\x1b[31m::error::x\n::warning::y", "a\u202eb", "c\u200b\nd\n"]
    text = tfjob({"Worker": {"args": args, "::stop": "\u202e"}})

    done = tf_cluster("convert", "-", stdin=text)

    assert done.returncode == 0
    for line in (done.stdout + done.stderr).splitlines():
        assert not line.lstrip().startswith("::")
        assert not {*"\x1b\u202e\u200b"} & {*line}


def test_the_name_of_a_folder_is_no_file(tf_cluster: Command, tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(tfjob())

    ran = tf_cluster("convert", "job.yaml", "-o", "made/")

    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr == "tf-cluster: made/ is a folder: name a file in it\n"
    assert [one.name for one in tmp_path.iterdir()] == ["job.yaml"]
