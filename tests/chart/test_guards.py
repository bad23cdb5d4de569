"""Every message of templates/_guards.tpl, word for word."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest
import yaml

from tests.chart.helm import CHART, RefusedError, refusal, render
from tools.chart.values_docs import read_values

IMAGE = """\
image.repository is empty, and there is no public trainer image. Build one:

    make image        # localhost/tf-cluster-trainer:0.1.0

then push it to a registry that the cluster can pull from (without Docker: make image prints how):

    docker tag localhost/tf-cluster-trainer:0.1.0 REGISTRY/tf-cluster-trainer:0.1.0
    docker push REGISTRY/tf-cluster-trainer:0.1.0
    helm … --set image.repository=REGISTRY/tf-cluster-trainer

or load it into kind:

    make image LOAD=kind:kind
    helm … --set image.repository=localhost/tf-cluster-trainer"""

PROGRAM = """\
program.module is empty: which program shall be trained? Write package.module:ClassName, a subclass
of tf_cluster_trainer.Program that the image holds, or a script with program.script. To try the
chart:

    helm … --set program.module=tf_cluster_trainer.examples.digits:Digits"""


def test_no_image() -> None:
    assert refusal({"image": {"repository": ""}}) == IMAGE


def test_no_program() -> None:
    assert refusal({"program": {"module": ""}}) == PROGRAM


def test_all_complaints_come_at_once() -> None:
    none = {"image": {"repository": ""}, "program": {"module": ""}}
    assert refusal(none) == f"{IMAGE}\n\n{PROGRAM}"


def test_a_module_and_a_script() -> None:
    assert refusal({"program": {"script": "/a.py"}}) == (
        "program.module is example.digits:Digits and program.script is /a.py: which of them shall "
        "be\ntrained? Leave one empty."
    )


@pytest.mark.parametrize("setting", [{"args": ["--steps=1"]}, {"ps": "script"}])
def test_a_scripts_setting_beside_a_module(setting: dict[str, Any]) -> None:
    assert refusal({"program": setting}) == (
        "program.args and program.ps are for a program.script; program.module is "
        "example.digits:Digits, which gets\nits settings from flags."
    )


def test_a_script_that_is_nowhere() -> None:
    assert refusal({"program": {"module": "", "script": "train.py"}}) == (
        "program.script is train.py: where is it? Give its whole path in the container, as in\n"
        "/data/code/train.py, or the directory it is in as program.path."
    )


def test_a_script_on_ps_that_are_not_there() -> None:
    program = {"module": "", "script": "/a.py", "ps": "script"}
    method = {"strategy": "all-reduce", "replication": "between-graph", "update": "sync"}
    assert refusal({"program": program, **method}) == (
        "program.ps is script, but strategy all-reduce has no parameter servers."
    )


def test_an_evaluator_of_a_script() -> None:
    program = {"module": "", "script": "/a.py"}
    assert refusal({"program": program, "evaluator": {"enabled": True}}) == (
        "evaluator.enabled is true, but a script has no `evaluate` to measure its checkpoints with."
    )


URL = {"url": "http://e.com/c.zip", "sha256": "ab" * 32}
GIT = {"git": "http://e.com/c.git", "commit": "ab" * 20}


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (
            {"source": {**URL, **GIT}},
            "program.source.url and program.source.git: the code comes from one place. Leave the "
            "others empty.",
        ),
        (
            {"source": {"url": URL["url"]}},
            "program.source.url and program.source.sha256 need each other: sha256 is empty.",
        ),
        (
            {"source": {"commit": GIT["commit"]}},
            "program.source.git and program.source.commit need each other: git is empty.",
        ),
        (
            {"source": GIT, "path": "/data/code"},
            "program.path is /data/code, but with a program.source it is a path in that: take one "
            "that stays in it.",
        ),
        (
            {"source": GIT, "path": "a/../.."},
            "program.path is a/../.., but with a program.source it is a path in that: take one "
            "that stays in it.",
        ),
        (
            {"source": {"files": {"a.py": "<" * 100_000}}},
            "program.source.files has 585 KiB as JSON; 512 KiB is the most that a ConfigMap and "
            "Helm's record of the\nrelease have room for. Put the code at an address "
            "(program.source.url), in Git, or on the data volume.",
        ),
    ],
)
def test_a_source_that_can_not_be(program: dict[str, Any], message: str) -> None:
    assert refusal({"program": program}) == message


def test_a_variable_that_a_script_is_told_by_the_trainer() -> None:
    extra = {"worker": {"extraEnv": [{"name": "LOG_DIR", "value": "/x"}]}}
    render(extra)
    assert refusal({"program": {"module": "", "script": "/a.py"}, **extra}) == (
        "worker.extraEnv sets LOG_DIR, which a script is told by the trainer."
    )


def test_a_tag_in_the_repository() -> None:
    assert refusal({"image": {"repository": "localhost:5000/trainer:2"}}) == (
        "image.repository is localhost:5000/trainer:2: the tag goes into image.tag, "
        "a digest into image.digest."
    )
    render({"image": {"repository": "localhost:5000/trainer"}})


def test_a_registry_of_a_role_that_the_repository_of_all_has() -> None:
    image = {"image": {"repository": "r.example/team/x"}}
    assert refusal(image | {"worker": {"image": {"registry": "r.example"}}}) == (
        "worker.image.registry is r.example, and image.repository begins with it: "
        "r.example/team/x. Leave one of them out."
    )


@pytest.mark.parametrize(
    ("replication", "update"),
    [("in-graph", "async"), ("in-graph", "sync"), ("between-graph", "async")],
)
def test_a_combination_that_does_not_exist(replication: str, update: str) -> None:
    values = {"strategy": "all-reduce", "replication": replication, "update": update}
    assert refusal(values) == textwrap.dedent(f"""\
        strategy=all-reduce replication={replication} update={update} is no combination that \
TensorFlow has. These are:

            strategy=parameter-server replication=in-graph update=async
            strategy=parameter-server replication=in-graph update=sync
            strategy=parameter-server replication=between-graph update=async
            strategy=parameter-server replication=between-graph update=sync
            strategy=all-reduce replication=between-graph update=sync""")


def test_momentum_of_an_optimizer_that_has_none() -> None:
    assert refusal({"train": {"optimizer": {"momentum": 0.9}}}) == (
        "train.optimizer.momentum is 0.9, but the optimizer is Adam: only Momentum has it."
    )


def test_momentum_without_its_number() -> None:
    assert refusal({"train": {"optimizer": {"name": "Momentum"}}}) == (
        "train.optimizer.name is Momentum: set train.optimizer.momentum (0.9 is usual)."
    )


def test_a_momentum_of_zero_is_a_number() -> None:
    render({"train": {"optimizer": {"name": "Momentum", "momentum": 0}}})
    assert "momentum is 0," in refusal({"train": {"optimizer": {"momentum": 0}}})


@pytest.mark.parametrize(("key", "value"), [("decaySteps", 500), ("endFactor", 0)])
def test_settings_of_a_decay_that_there_is_not(key: str, value: float) -> None:
    assert refusal({"train": {"optimizer": {"schedule": {key: value}}}}) == (
        f"train.optimizer.schedule.{key} is {value}, but by the schedule constant nothing decays: "
        f"set\ntrain.optimizer.schedule.name to exponential, cosine or linear, or leave {key} out."
    )


@pytest.mark.parametrize("end", [{}, {"endFactor": 0}])
def test_an_exponential_decay_to_0(end: dict[str, float]) -> None:
    assert refusal({"train": {"optimizer": {"schedule": {"name": "exponential", **end}}}}) == (
        "train.optimizer.schedule.name is exponential, which never comes to 0: set "
        "train.optimizer.schedule.endFactor (0.01 is usual)."
    )


def gpus(role: str, number: int) -> dict[str, object]:
    return {role: {"resources": {"limits": {"nvidia.com/gpu": number}}}}


def test_gpus_that_a_task_would_not_use() -> None:
    assert refusal(gpus("worker", 2)) == (
        "worker.resources asks for 2 nvidia.com/gpu, but with parameter servers a worker computes "
        "on one: ask for 1 and\nfor more workers, or set strategy to all-reduce."
    )
    assert refusal(gpus("evaluator", 2)) == (
        "evaluator.resources asks for 2 nvidia.com/gpu, but an evaluator computes on one: "
        "ask for 1."
    )
    for role in ("chief", "ps"):
        assert refusal(gpus(role, 1)) == (
            f"{role}.resources asks for 1 nvidia.com/gpu, but {role} computes on CPUs and is shown "
            "no GPU: leave it out."
        )
    render(gpus("worker", 1))
    all_reduce = {"strategy": "all-reduce", "replication": "between-graph", "update": "sync"}
    render({**all_reduce, **gpus("worker", 2)})
    render({"program": {"module": "", "script": "/data/train.py"}, **gpus("worker", 2)})


def test_a_ps_that_would_be_killed_while_it_waits() -> None:
    message = (
        "ps.preStopSeconds is 30 and ps.terminationGracePeriodSeconds 30: the first is a part of "
        "the second,\nso it has to be smaller."
    )
    assert refusal({"ps": {"preStopSeconds": 30}}) == message
    render({"ps": {"preStopSeconds": 0, "terminationGracePeriodSeconds": 0}})


def test_a_name_too_long_for_what_is_made_of_it() -> None:
    name = "a" * 41
    assert refusal(release=name) == (
        f"The name {name} has 41 characters; 40 is the most, so that the names made from it fit\n"
        f"in 63: {name}-cleanup-00000000-0000 has 63. Take a shorter release name, or set "
        "fullnameOverride."
    )
    assert f"The name {name} has 41" in refusal({"fullnameOverride": name})
    render(release="a" * 40)


@pytest.mark.parametrize("name", ["1st", "v1.2"])
def test_a_release_name_that_is_no_host_name(name: str) -> None:
    assert refusal(release=name) == (
        f"The name {name} can't be part of a host name: it needs a letter first, then letters, "
        "digits and -.\nTake another release name, or set fullnameOverride."
    )
    render({"fullnameOverride": "v1-2"}, release=name)


@pytest.mark.parametrize("volume", ["data", "log"])
@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("volumeName", "pv"),
        ("storageClassName", "nfs"),
        ("annotations", {"a": "b"}),
        ("selector", {"matchLabels": {"a": "b"}}),
        ("dataSource", {"kind": "PersistentVolumeClaim", "name": "old"}),
    ],
)
def test_an_existing_claim_with_a_setting_of_a_claim_to_make(
    volume: str, key: str, value: Any
) -> None:
    assert refusal({"storage": {volume: {"existingClaim": "mine", key: value}}}) == (
        f"storage.{volume}.existingClaim is mine, so the chart makes no claim and\n"
        f"storage.{volume}.{key} would do nothing: remove one of the two."
    )


@pytest.mark.parametrize("key", ["existingClaim", "subPath", "volumeName", "storageClassName"])
def test_a_setting_of_the_data_claim_that_there_is_not(key: str) -> None:
    assert refusal({"storage": {"data": {"enabled": False, key: "x"}}}) == (
        "storage.data.enabled is false, so /data is an empty directory and "
        f"storage.data.{key} would do nothing: remove one of the two."
    )


def test_a_selector_without_a_class() -> None:
    assert refusal({"storage": {"log": {"selector": {"matchLabels": {"a": "b"}}}}}) == (
        'storage.log.selector is {"matchLabels":{"a":"b"}}, and without storage.log.'
        "storageClassName the claim asks for the cluster's\ndefault class and never binds to a "
        'volume of another: set it to the volume\'s class, or to "" if it has none.'
    )


def test_pods_on_several_nodes_with_a_claim_of_one() -> None:
    shared = {"accessModes": ["ReadWriteMany"]}
    assert refusal({"storage": {"colocate": False, "data": shared}}) == (
        "storage.colocate is false, but storage.log.accessModes is [ReadWriteOnce], which one node "
        "can mount. Set\nstorage.log.accessModes to [ReadWriteMany] if its volume can be mounted "
        "on several, or leave storage.colocate out."
    )
    assert "storage.data.accessModes" in refusal({"storage": {"colocate": False}})
    render({"storage": {"colocate": False, "data": {"enabled": False}, "log": shared}})


@pytest.mark.parametrize("role", ["pod", "chief", "worker", "ps", "evaluator"])
@pytest.mark.parametrize(
    "name",
    ["TF_CONFIG", "JOB_COMPLETION_INDEX", "GRPC_FAIL_FAST", "TF_CLUSTER_CONFIG", "TF_CLUSTER_X"],
)
def test_a_reserved_variable(role: str, name: str) -> None:
    assert refusal({role: {"extraEnv": [{"name": name, "value": "x"}]}}) == (
        f"{role}.extraEnv sets {name}. Reserved are TF_CONFIG, JOB_COMPLETION_INDEX, "
        "GRPC_FAIL_FAST and all\nnames that start with TF_CLUSTER_: the chart and the Job "
        "controller set them."
    )


@pytest.mark.parametrize("section", ["notebook", "pod"])
@pytest.mark.parametrize(
    ("name", "instead"),
    [
        (
            "JUPYTER_TOKEN",
            "Put the token into a Secret, and name that in notebook.token.existingSecret.",
        ),
        ("NOTEBOOK_DIR", "Leave it out: notebooks and their token are kept on the log volume."),
    ],
)
def test_a_variable_of_the_notebooks(section: str, name: str, instead: str) -> None:
    notebook = {"enabled": True, "token": {"existingSecret": "mine"}}
    variables = {"extraEnv": [{"name": name, "value": "x"}]}
    merged = {
        "notebook": notebook,
        section: variables | (notebook if section == "notebook" else {}),
    }
    assert refusal(merged) == (
        f"{section}.extraEnv sets {name}, which JupyterLab is told by the chart. {instead}"
    )


def test_a_variable_that_stands_twice() -> None:
    twice = [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]
    assert refusal({"ps": {"extraEnv": twice}}) == "ps.extraEnv has A twice."


def test_two_pages_on_one_port_of_the_nodes() -> None:
    page = {"enabled": True, "service": {"type": "NodePort", "nodePort": 30606}}
    assert refusal({"tensorboard": page, "notebook": page}) == (
        "notebook.service.nodePort is 30606, as tensorboard.service.nodePort: a port of the nodes "
        "leads to one Service. Take another, or leave one out."
    )


@pytest.mark.parametrize("label", ["app.kubernetes.io/component", "tf-cluster.io/attempt"])
@pytest.mark.parametrize("role", ["pod", "chief", "worker", "ps", "evaluator", "cleanup"])
def test_a_pod_label_of_the_charts_own(role: str, label: str) -> None:
    assert refusal({role: {"podLabels": {label: "x"}}}) == (
        f"{role}.podLabels sets the label {label}, which is the chart's own: take another name."
    )


def test_a_common_label_of_the_charts_own() -> None:
    assert refusal({"commonLabels": {"helm.sh/chart": "x"}}) == (
        "commonLabels sets the label helm.sh/chart, which is the chart's own: take another name."
    )
    render({"commonLabels": {"app.kubernetes.io/part-of": "research"}})


DEFAULTS = {value.path: value for value in read_values((CHART / "values.yaml").read_text())}
MAY_BE_NULL = {
    path
    for path, value in DEFAULTS.items()
    if value.default in (None, "", [], {})
    or path[-1] in ("resources", "podSecurityContext", "containerSecurityContext")
    or path == ("cleanup", "delaySeconds", "failure")
}


def nulled(path: tuple[str, ...]) -> dict[str, Any]:
    value: Any = None
    for key in reversed(path):
        value = {key: value}
    return dict(value)


@pytest.mark.parametrize(
    "path",
    sorted(p for p, value in DEFAULTS.items() if not value.is_section and p not in MAY_BE_NULL),
    ids=".".join,
)
def test_null_where_a_value_is_needed(path: tuple[str, ...]) -> None:
    assert refusal(nulled(path)) == (
        f"{'.'.join(path)} is null. Leave the line out to have its default "
        "(helm show values prints it)."
    )


@pytest.mark.parametrize("path", sorted(MAY_BE_NULL), ids=".".join)
def test_null_where_nothing_is_meant(path: tuple[str, ...]) -> None:
    if path in {("image", "repository"), ("program", "module")}:
        assert "is empty" in refusal(nulled(path))
    else:
        render(nulled(path))


@pytest.mark.parametrize(
    "path", sorted(p for p, value in DEFAULTS.items() if value.is_section), ids=".".join
)
def test_a_section_left_empty_is_explained(path: tuple[str, ...]) -> None:
    values = {"image": {"repository": "x"}, "program": {"module": "a:B"}, **nulled(path)}
    try:
        render(values)
    except RefusedError as error:
        assert "nil pointer" not in str(error)
        assert f"{'.'.join(path)}" in str(error)


def test_a_config_map_is_counted_to_the_byte() -> None:
    data = render({"flags": {"a": ""}}).one("ConfigMap", "config")["data"]
    room = (1 << 20) - sum(len(text) for text in data.values())

    render({"flags": {"a": "x" * room}})
    assert "would have 1024 KiB" in refusal({"flags": {"a": "x" * (room + 1)}})


SERVED = {"interactive": {"enabled": True}, "program": {"module": ""}}


@pytest.mark.parametrize(
    ("beside", "words"),
    [
        ({"program": {"module": "a:B"}}, "interactive.enabled is true and program.module is a:B"),
        ({"program": {"module": "", "path": "/x"}}, "and program.path is /x: a client drives"),
        (
            {"program": {"module": "", "source": {"files": {"a.py": ""}}}},
            "interactive.enabled is true, so no task runs code of program.source: leave it out.",
        ),
        ({"program": {"module": "", "args": ["-x"]}}, "and program.args is [-x]: a client drives"),
        ({"program": {"module": "", "ps": "script"}}, "and program.ps is script: a client drives"),
        ({"train": {"steps": 5}}, "so no task reads train.steps (5): the client says how"),
        ({"train": {"stepsPerCall": 2}}, "so no task reads train.stepsPerCall (2): "),
        (
            {"train": {"optimizer": {"learningRate": 0.1}}},
            'so no task reads train.optimizer ({"learningRate":0.1,"name":"Adam",',
        ),
        ({"flags": {"a": 1}}, 'so no program reads flags ({"a":1}): leave them out.'),
        ({"worker": {"successPolicy": "first"}}, "each ends when no client is there.\nSet it to"),
        ({"update": "sync"}, "(parameter-server/in-graph/sync is what they are)"),
        (
            {"strategy": "all-reduce", "replication": "between-graph", "update": "sync"},
            "(all-reduce/between-graph/sync is what they are)",
        ),
        ({"evaluator": {"enabled": True}}, "nobody writes checkpoints for an evaluator"),
    ],
)
def test_what_goes_with_no_client(beside: dict[str, Any], words: str) -> None:
    assert words in refusal(SERVED | beside)


def test_the_defaults_beside_a_client_are_those_of_values_yaml() -> None:
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    render(SERVED | {"train": values["train"], "flags": values["flags"]})
