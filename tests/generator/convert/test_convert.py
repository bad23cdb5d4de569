"""What each part of a TFJob becomes. The manifests are in the style of those that people share."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml
from tf_cluster.check import check
from tf_cluster.convert import settle
from tf_cluster.convert.convert import Converted, convert, unmap
from tf_cluster.convert.draft import Draft
from tf_cluster.convert.job import Job
from tf_cluster.convert.manifest import choose, read_manifests
from tf_cluster.convert.report import Entry
from tf_cluster.findings.finding import errors
from tf_cluster.yaml.reader import read_document

IMAGE = "registry.example.com/team/trainer:1.0"
COMMAND = {"command": ["python", "/opt/train.py"]}
PS_POD = ("spec", "tfReplicaSpecs", "PS", "template", "spec")


def tfjob(
    roles: dict[str, Any] | None = None, spec: dict[str, Any] | None = None, **metadata: Any
) -> str:
    """A manifest; each role is the fields of its container and, under `pod`, of its pod."""
    replicas: dict[str, Any] = {}
    for kind, fields in (roles or {"Worker": {}}).items():
        own = dict(fields)
        pod, count = own.pop("pod", {}), own.pop("replicas", 1)
        container = {"name": "tensorflow", "image": "registry.example.com/mnist:1", **COMMAND}
        template = {"spec": {"containers": [{**container, **own}], **pod}}
        replicas[kind] = {"replicas": count, "template": template}
    job = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "TFJob",
        "metadata": {"name": "mnist", **metadata},
        "spec": {"tfReplicaSpecs": replicas, **(spec or {})},
    }
    return yaml.safe_dump(job, sort_keys=False)


def made_of(text: str, name: str | None = None) -> Converted:
    return convert("job.yaml", text.encode(), name, IMAGE)


def params_of(text: str, *, valid: bool = True) -> Any:
    """The params file as data; it is valid unless a test says otherwise."""
    made = made_of(text)
    found = errors(check("params.yaml", made.text.encode()).findings)
    wrong = [finding.words for finding in found if finding.code not in settle.NOT_YET]
    assert not valid or wrong == []
    return yaml.safe_load(made.text)


def to_dos(text: str) -> str:
    """All that is to do, a line each."""
    return "\n".join(entry.told for entry in made_of(text).entries if entry.fate == "to do")


def entry_of(text: str, *field: str | int) -> Entry:
    """The one entry about a field."""
    found = [entry for entry in made_of(text).entries if entry.field == field]
    assert len(found) == 1, found
    return found[0]


WAYS: tuple[tuple[dict[str, Any], dict[str, Any]], ...] = (
    ({"Worker": {"replicas": 3}}, {"strategy": "all-reduce", "workers": 3}),
    ({"Chief": {}}, {"strategy": "all-reduce", "workers": 1}),
    ({"Master": {}, "Worker": {"replicas": 2}}, {"strategy": "all-reduce", "workers": 3}),
    (
        {"PS": {"replicas": 2}, "Worker": {"replicas": 4}},
        {
            "strategy": "parameter-server",
            "replication": "between-graph",
            "workers": 4,
            "ps": 2,
        },
    ),
    (
        {"Chief": {}, "Worker": {"replicas": 4}, "ps": {}},
        {"strategy": "parameter-server", "replication": "in-graph", "workers": 4, "ps": 1},
    ),
    (
        {"Chief": {}, "PS": {}},
        {"strategy": "parameter-server", "replication": "between-graph", "workers": 1, "ps": 1},
    ),
)


@pytest.mark.parametrize(("roles", "way"), WAYS, ids=lambda one: "-".join(one))
def test_the_replicas_say_which_way_of_training_it_is(
    roles: dict[str, Any], way: dict[str, Any]
) -> None:
    params = params_of(tfjob(roles))

    keys = ("strategy", "replication", "workers", "ps")
    assert {key: params[key] for key in keys if key in params} == way


def test_a_chief_beside_workers_without_ps_becomes_worker_0_and_that_is_said() -> None:
    chief = {"env": [{"name": "ROLE", "value": "first"}], "pod": {"nodeSelector": {"pool": "a"}}}
    text = tfjob({"Chief": chief, "Worker": {"pod": {"nodeSelector": {"pool": "a"}}}})

    assert "Chief: the chief becomes worker 0" in to_dos(text)
    assert "Chief.containers[0].env[0].value: worker 0 is as all workers are" in to_dos(text)
    assert "nodeSelector" not in to_dos(text)


@pytest.mark.parametrize("first", [True, False])
def test_a_chief_is_compared_with_the_workers_by_the_names_of_containers(first: bool) -> None:
    job = yaml.safe_load(tfjob({"Chief": {}, "Worker": {}}))
    pod = job["spec"]["tfReplicaSpecs"]["Worker" if first else "Chief"]["template"]["spec"]
    pod["containers"].insert(0, {"name": "proxy", "image": "registry.example.com/proxy:1"})

    told = re.findall(r"to do: (Chief\..*?):", to_dos(yaml.safe_dump(job)))

    of_proxy = [] if first else ["Chief.containers[0].image", "Chief.containers[0].name"]
    assert told == of_proxy


COMMANDS: tuple[tuple[dict[str, Any], dict[str, Any]], ...] = (
    (
        {"command": ["python", "/opt/x.py", "--flag", "v"]},
        {"script": "/opt/x.py", "args": ["--flag", "v"]},
    ),
    (
        {"command": ["/usr/bin/python3", "-u"], "args": ["/opt/x.py", "-v"]},
        {"script": "/opt/x.py", "args": ["-v"]},
    ),
    (
        {"args": ["python", "x.py"], "workingDir": "/opt/jobs", "command": None},
        {"script": "x.py", "path": "/opt/jobs"},
    ),
    (
        {"command": ["sh", "-c", "cd /opt/jobs && exec python x.py --n=3"]},
        {"script": "x.py", "path": "/opt/jobs", "args": ["--n=3"]},
    ),
    ({"command": ["/opt/x.py", "a"]}, {"script": "/opt/x.py", "args": ["a"]}),
    (
        {"command": ["sh", "-c", "python /x.py --lr 1e-3 --quote 'a b'"]},
        {"script": "/x.py", "args": ["--lr", "1e-3", "--quote", "a b"]},
    ),
    ({"command": ["/usr/bin/env", "python", "/x.py"]}, {"script": "/x.py"}),
    (
        {"command": ["python", "-uO", "-W", "a.py", "-Xdev", "-X", "utf8", "/x.py", "-W", "v"]},
        {"script": "/x.py", "args": ["-W", "v"]},
    ),
    (
        {
            "command": ["python", "/x.py", "--to=$(OUT)/m", "$(NONE)", "$$(OUT)"],
            "env": [{"name": "B", "value": "/b"}, {"name": "OUT", "value": "$(B)/o"}],
        },
        {"script": "/x.py", "args": ["--to=/b/o/m", "$$(NONE)", "$$(OUT)"]},
    ),
)


@pytest.mark.parametrize(("container", "program"), COMMANDS)
def test_a_python_command_becomes_the_program(
    container: dict[str, Any], program: dict[str, Any]
) -> None:
    text = tfjob({"Worker": container})

    assert params_of(text)["program"] == program
    assert "name the script" not in to_dos(text)


UNKNOWN_COMMANDS: tuple[tuple[dict[str, Any], str], ...] = (
    ({"command": None}, "the image's own command runs"),
    ({"command": None, "args": ["--steps=3"]}, "the image's own command runs"),
    ({"command": ["sh", "-c", "pip install x && python /x.py"]}, "a shell runs: pip install x"),
    ({"command": ["bash", "/run.sh"]}, "bash runs, which is no Python script"),
    ({"command": ["bash", "-c", "FOO=1 python /a.py --lr=1"]}, "FOO=1 runs, which is no Python"),
    ({"command": ["nohup", "python", "/a.py"]}, "its arguments in program.args, of: nohup python"),
    ({"command": ["torchrun", "/a.py", "--lr=1"]}, "of: torchrun /a.py --lr=1"),
    ({"command": ["bash", "-c", "python /a.py --lr 1", "x"]}, "of: bash -c python /a.py --lr 1 x"),
    ({"command": ["python", "-c", "print(1)"]}, "python -c runs code"),
    ({"command": ["python", "-m", "trainer.task"]}, "python -m trainer.task"),
    ({"command": ["python", "x.py"]}, "x.py is in the image's working directory"),
    ({"command": ["python", "/opt/train"]}, "/opt/train is no name of a Python script"),
    ({"command": []}, "the image's own command runs"),
)


@pytest.mark.parametrize(("container", "doubt"), UNKNOWN_COMMANDS)
def test_of_any_other_command_a_person_names_the_script(
    container: dict[str, Any], doubt: str
) -> None:
    text = tfjob({"Worker": container})

    assert params_of(text)["program"]["script"].endswith(".py")
    assert f"{doubt}" in to_dos(text)


@pytest.mark.parametrize(
    ("command", "args"),
    [
        (["/train", "--lr=1"], ["--lr=1"]),
        (["nohup", "python", "/a.py", "--lr=1"], None),
        (["bash", "-c", "FOO=1 python /a.py --lr=1"], None),
        (["sh", "/run.sh", "--lr=1"], None),
        (["accelerate", "launch", "/a.py"], None),
    ],
)
def test_words_that_are_another_command_are_no_arguments_of_the_script(
    command: list[str], args: list[str] | None
) -> None:
    text = tfjob({"Worker": {"command": command}})

    assert params_of(text)["program"].get("args") == args
    kept = [entry for entry in made_of(text).entries if entry.told.endswith("-> program.args")]
    assert bool(kept) == bool(args)


APART = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {}}


@pytest.mark.parametrize(
    ("selector", "is_told"),
    [
        ({"matchLabels": {"training.kubeflow.org/job-name": "mnist"}}, True),
        ({"matchExpressions": [{"key": "tf-replica-type", "operator": "Exists"}]}, True),
        ({"matchLabels": {"app": "mnist"}}, False),
        ({"matchLabels": {"group-name": "mine"}}, False),
    ],
)
@pytest.mark.parametrize("field", ["affinity", "topologySpreadConstraints"])
def test_a_selector_by_the_operators_labels_is_to_do(
    field: str, selector: dict[str, Any], is_told: bool
) -> None:
    term = {**APART, "labelSelector": selector}
    terms = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    spread = [{**term, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}]
    manifest = yaml.safe_load(tfjob())
    template = manifest["spec"]["tfReplicaSpecs"]["Worker"]["template"]
    template["metadata"] = {"labels": {"group-name": "mine"}}
    template["spec"][field] = terms if field == "affinity" else spread
    text = yaml.safe_dump(manifest)

    assert field in params_of(text)["extraValues"]["worker"]
    assert ("pods here have other labels" in to_dos(text)) == is_told


def test_a_chief_that_joins_the_workers_changes_none_of_their_retries() -> None:
    both = tfjob({"Chief": {}, "Worker": {"replicas": 2}}, name="m")
    text = both.replace("    Chief:\n", "    Chief:\n      restartPolicy: Never\n")

    assert "backoffLimit" not in str(params_of(text))
    assert "Never: extraValues.worker.backoffLimit is not there; 0 tries no" in to_dos(text)


@pytest.mark.parametrize(
    ("labels", "selector"), [(5, {}), ({}, {"matchExpressions": 5}), ({}, {"matchLabels": [1]})]
)
def test_a_selector_of_another_kind_is_no_trouble(labels: Any, selector: Any) -> None:
    manifest = yaml.safe_load(tfjob())
    template = manifest["spec"]["tfReplicaSpecs"]["Worker"]["template"]
    template["metadata"] = {"labels": labels}
    term = {**APART, "labelSelector": selector}
    template["spec"]["affinity"] = {
        "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    }

    assert made_of(yaml.safe_dump(manifest)).text


def test_a_replica_that_is_never_tried_again_is_not_here() -> None:
    text = tfjob().replace("replicas: 1", "replicas: 1\n      restartPolicy: Never")

    assert params_of(text)["extraValues"]["worker"]["backoffLimit"] == 0
    told = entry_of(text, "spec", "tfReplicaSpecs", "Worker", "restartPolicy").told
    assert told.endswith("-> extraValues.worker.backoffLimit (0)")


@pytest.mark.parametrize("key", ["command", "args"])
def test_a_command_that_is_a_text_is_told_to_be_a_list(key: str) -> None:
    text = tfjob({"Worker": {"command": None, key: "python /x.py"}})

    assert params_of(text)["program"] == {"script": "/CHANGE-ME/train.py"}
    why = f"{key} is a text, and Kubernetes needs a list there, as [python, /opt/train.py]: mend it"
    assert f"to do: Worker.containers[0].{key}: {why} and convert again" in to_dos(text)
    assert to_dos(text).count(f"containers[0].{key}") == 1


def test_pythons_own_options_are_told() -> None:
    container = {"command": ["python", "-u", "-O", "-W", "ignore", "-X", "dev", "/x.py"]}
    text = tfjob({"Worker": container, "PS": container})

    place = "Worker.containers[0].command"
    assert f"{place}[2]: -O: tasks run python without it; the variable PYTHONOP" in to_dos(text)
    assert f"{place}[3]: -W ignore: tasks run python without it; the variable" in to_dos(text)
    assert f"{place}[5]: -X dev: tasks run python without it" in to_dos(text)
    told = [entry.told for entry in made_of(text).entries]
    why = "-u is not needed: what a script prints is in the log at once"
    assert f"left out: {place}[1]: {why}" in told
    assert params_of(text)["program"] == {"script": "/x.py", "ps": "script"}
    assert "left out: PS.containers[0].command: as the workers'" in told
    other = tfjob({"Worker": container, "PS": {"command": ["python", "/x.py"]}})
    assert params_of(other)["program"]["ps"] == "server"
    module = tfjob({"Worker": {"command": ["python", "-O", "-m", "a.b"]}})
    assert "command[1]: -O: tasks run python without it" in to_dos(module)


@pytest.mark.parametrize(
    ("command", "place"),
    [
        (None, "program.script is /CHANGE-ME/train.py"),
        (["python", "-m", "a.b"], "program.script is /CHANGE-ME/a/b.py"),
        (["python", "x.py"], "program.path is /CHANGE-ME"),
    ],
)
def test_a_directory_that_is_not_told_is_no_valid_one(
    command: list[str] | None, place: str
) -> None:
    made = made_of(tfjob({"Worker": {"command": command}}))

    for for_cluster in (True, False):
        found = errors(check("p.yaml", made.text.encode(), for_cluster=for_cluster).findings)
        assert [(one.code, one.message.partition(",")[0]) for one in found] == [("TFC352", place)]


WRITTEN_IN_DOUBT = (
    ({"command": ["sh", "-c", "pip install x && python /x.py"]}, ()),
    ({"command": ["python", "-c", "print(1)"]}, ()),
    ({"command": ["python", "-c", "print(1)", "x"]}, ("command -> program.args",)),
    ({"command": ["python", "-m", "a.b"], "workingDir": "/w"}, ("command -> program.script",)),
    ({"command": None, "args": ["--steps=3"]}, ("args -> program.args",)),
)


@pytest.mark.parametrize(("container", "mapped"), WRITTEN_IN_DOUBT)
def test_a_command_in_doubt_maps_to_what_is_written_of_it(
    container: dict[str, Any], mapped: tuple[str, ...]
) -> None:
    text = tfjob({"Worker": container, "PS": container})

    told = [entry.told for entry in made_of(text).entries if entry.fate == "maps"]
    place = "Worker.containers[0]."
    found = [line.removeprefix(place) for line in told if line.startswith(place)]
    assert [line for line in found if not line.startswith("workingDir")] == list(mapped)
    assert not [line for line in told if line.startswith("PS.containers[0].command")]
    assert to_dos(text).count("name the script") == 1


def with_words(text: str, *words: str) -> str:
    """The manifest with these words after each script, as YAML writes them."""
    line = "- /opt/train.py\n"
    indent = re.findall(f"( *){line}", text)[0]
    return text.replace(line, "".join([line, *(f"{indent}- {word}\n" for word in words)]))


def test_an_argument_that_is_no_text_is_written_as_the_manifest_writes_it() -> None:
    text = with_words(tfjob({"PS": {}, "Worker": {}}), *("--steps", "10", "--lr", "0.10", "yes"))

    program = params_of(text)["program"]

    assert program["args"] == ["--steps", "10", "--lr", "0.10", "yes"]
    assert program["ps"] == "script"
    place = "Worker.containers[0].command"
    for index, word, kind in ((3, "10", "number"), (5, "0.10", "number"), (6, "yes", "boolean")):
        why = f"{word} is a {kind}, which Kubernetes refuses; it is written as '{word}'"
        assert f"{place}[{index}]: {why}" in to_dos(text)
    assert "not the workers' command" not in to_dos(text)
    listed = with_words(
        tfjob({"Worker": {"command": ["python"], "args": COMMAND["command"][1:]}}), "3"
    )
    assert params_of(listed)["program"] == {"script": "/opt/train.py", "args": ["3"]}
    assert "args[1]: 3 is a number" in to_dos(listed)


@pytest.mark.parametrize(
    ("word", "kind"), [("null", "null"), ("{a: 1}", "a mapping"), ("[1]", "a list")]
)
def test_of_a_command_with_a_word_that_can_not_be_one_no_argument_is_written(
    word: str, kind: str
) -> None:
    text = with_words(tfjob({"PS": {}, "Worker": {}}), "--steps", word, "--lr", "3")

    assert params_of(text)["program"] == {"script": "/opt/train.py", "ps": "script"}
    why = f"command[3] is {kind}, no text, so no argument is written: write them as program.args"
    assert f"to do: Worker.containers[0].command: {why}" in to_dos(text)
    assert "not the workers' command" not in to_dos(text)
    first = with_words(tfjob({"Worker": {"command": None, "args": ["--x", "/opt/train.py"]}}), word)
    assert "args" not in params_of(first)["program"]
    why = f"not tell; args[2] is {kind}, no text, so no argument is written: name the script"
    assert why in to_dos(first)


def test_a_variable_that_kubernetes_would_fill_in_is_told() -> None:
    env = [{"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}]
    text = tfjob({"Worker": {"command": ["python", "/x.py", "--ip=$(IP)"], "env": env}})

    assert params_of(text)["program"]["args"] == ["--ip=$$(IP)"]
    assert "$(IP) was filled in by Kubernetes" in to_dos(text)
    shell = {"command": ["sh", "-c", "python /x.py '--ip=$(IP)'"], "env": env}
    assert "$(IP) was filled in by Kubernetes" in to_dos(tfjob({"Worker": shell}))


def test_ps_of_another_command_serve_and_that_is_said() -> None:
    same = tfjob({"PS": {}, "Worker": {}})
    other = tfjob({"PS": {"command": ["python", "/opt/ps.py"]}, "Worker": {}})

    assert params_of(same)["program"]["ps"] == "script"
    assert params_of(other)["program"]["ps"] == "server"
    assert "PS.containers[0].command: not the workers' command" in to_dos(other)
    unsaid = tfjob({"PS": {"command": None}, "Worker": {}})
    assert "PS.containers[0]: not the workers' command" in to_dos(unsaid)


def test_two_shell_commands_that_nobody_reads_are_not_taken_for_the_same() -> None:
    shells = [{"command": ["sh", "-c", f"python /opt/{one}.py && echo"]} for one in "ab"]
    text = tfjob({"PS": shells[0], "Worker": shells[1]})

    assert params_of(text)["program"]["ps"] == "server"
    assert "PS.containers[0].command: not the workers' command" in to_dos(text)


def mounted(place: str, volume: dict[str, Any], **mount: Any) -> dict[str, Any]:
    """A container with this volume at this place."""
    return {
        "volumeMounts": [{"name": "v", "mountPath": place, **mount}],
        "pod": {"volumes": [{"name": "v", **volume}]},
    }


def claim(name: str, **more: Any) -> dict[str, Any]:
    """A volume that is a claim."""
    return {"persistentVolumeClaim": {"claimName": name, **more}}


def test_claims_at_data_and_log_have_keys() -> None:
    roles = {"Worker": mounted("/data", claim("sets"), subPath="mnist")}

    params = params_of(tfjob(roles))

    assert params["data"] == {"claim": "sets", "subPath": "mnist"}
    assert params_of(tfjob({"Worker": mounted("/log/", claim("runs"))}))["log"] == {"claim": "runs"}


def test_the_claims_own_manifest_in_the_file_says_its_access_modes() -> None:
    own = (
        "---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: sets}\n"
        "spec: {accessModes: [ReadWriteMany]}\n"
    )
    text = tfjob({"Worker": mounted("/data", claim("sets"))})

    assert "say by data.accessModes what the claim sets has" in to_dos(text)
    assert params_of(text + own)["data"]["accessModes"] == ["ReadWriteMany"]
    assert "accessModes" not in to_dos(text + own)


def test_a_claim_that_results_go_to_is_logs_too_and_stays_where_it_was() -> None:
    text = tfjob({"Worker": mounted("/results", claim("events"))})

    params = params_of(text)

    assert params["log"] == {"claim": "events"}
    assert params["data"] == {"enabled": False}
    worker = params["extraValues"]["worker"]
    assert worker["extraVolumeMounts"] == [{"name": "v", "mountPath": "/results"}]
    assert worker["extraVolumes"] == [{"name": "v", **claim("events")}]


def test_a_claim_of_training_data_is_not_taken_for_results() -> None:
    params = params_of(tfjob({"Worker": mounted("/datasets/train", claim("sets"))}))

    assert "log" not in params


def test_without_a_claim_for_results_the_claim_that_the_chart_makes_is_told() -> None:
    assert "no claim is mounted at /log, so the chart makes one" in to_dos(tfjob())


def test_other_claims_of_other_roles_at_one_place_are_to_do() -> None:
    text = tfjob(
        {"Worker": mounted("/data", claim("a")), "Chief": mounted("/data", claim("b")), "PS": {}}
    )

    assert params_of(text)["data"]["claim"] == "a"
    assert "other tasks have the claim a there" in to_dos(text)


def test_a_ps_that_serves_needs_no_data_and_its_volume_is_told_so() -> None:
    ps = {**mounted("/data", claim("sets")), "command": ["python", "/opt/ps.py"]}
    text = tfjob({"PS": ps, "Worker": mounted("/data", claim("sets"))})

    for field in (("volumes", 0), ("containers", 0, "volumeMounts", 0)):
        entry = entry_of(text, *PS_POD, *field)
        assert entry.fate == "left out"
        assert entry.words == "the ps run TensorFlow's server, which reads no files"


def test_a_volume_of_a_ps_that_is_mounted_elsewhere_too_stays() -> None:
    ps = {**mounted("/data", claim("sets")), "command": ["python", "/opt/ps.py"]}
    ps["volumeMounts"].append({"name": "v", "mountPath": "/sets"})
    text = tfjob({"PS": ps, "Worker": {}})

    assert entry_of(text, *PS_POD, "volumes", 0).fate == "maps"


@pytest.mark.parametrize("kind", ["hostPath", "configMap", "nfs"])
def test_what_is_no_claim_at_data_is_to_do(kind: str) -> None:
    text = tfjob({"Worker": mounted("/data", {kind: {"path": "/x"}})})

    assert params_of(text)["data"] == {"enabled": False}
    assert f"{kind} at /data: all tasks have one claim there" in to_dos(text)


def test_empty_directories_where_the_chart_has_some_need_their_size_only() -> None:
    shm = {"emptyDir": {"medium": "Memory", "sizeLimit": "2Gi"}}

    assert params_of(tfjob({"Worker": mounted("/dev/shm", shm)}))["extraValues"]["worker"][
        "shmSize"
    ] == ("2Gi")
    text = tfjob({"Worker": mounted("/tmp", {"emptyDir": {}})})
    assert "extraVolumes" not in params_of(text)["extraValues"]["worker"]
    assert "/tmp" not in to_dos(text)
    assert "sizeLimit: 1Gi: /data is on the node's disk" in to_dos(
        tfjob({"Worker": mounted("/data", {"emptyDir": {"sizeLimit": "1Gi"}})})
    )


def test_a_directory_shared_with_a_container_beside_it_is_not_the_charts() -> None:
    container = mounted("/tmp", {"emptyDir": {}})
    beside = {"name": "sync", "image": "sync:1", "volumeMounts": container["volumeMounts"]}
    container["pod"]["initContainers"] = [beside]

    assert "/tmp is the task's own here" in to_dos(tfjob({"Worker": container}))


def test_a_volume_with_a_name_of_the_charts_gets_another() -> None:
    container = mounted("/sets", claim("sets"))
    container["volumeMounts"][0]["name"] = container["pod"]["volumes"][0]["name"] = "data"

    worker = params_of(tfjob({"Worker": container}))["extraValues"]["worker"]

    assert worker["extraVolumes"][0]["name"] == worker["extraVolumeMounts"][0]["name"]
    assert worker["extraVolumes"][0]["name"] == "tfjob-data"


def test_a_read_only_claim_at_data_is_to_do_because_the_chart_mounts_it_to_write() -> None:
    text = tfjob({"Worker": mounted("/data", claim("sets", readOnly=True))})

    assert "persistentVolumeClaim.readOnly: tasks can write to /data" in to_dos(text)


def test_resources_are_completed_as_kubernetes_does_and_no_limit_is_added() -> None:
    resources = {"limits": {"cpu": "500m", "nvidia.com/gpu": "1"}}

    checked = check(
        "p.yaml", made_of(tfjob({"Worker": {"resources": resources}})).text.encode()
    ).values

    assert checked.effective["worker"]["resources"] == {
        "requests": {"cpu": "500m", "memory": "1Gi"},
        "limits": {"cpu": "500m", "nvidia.com/gpu": 1},
    }


def test_gpus_of_workers_have_a_key() -> None:
    text = tfjob({"Worker": {"resources": {"limits": {"nvidia.com/gpu": "2"}}}})

    assert params_of(text)["gpus"] == 2


def test_gpus_of_a_ps_are_to_do_because_no_ps_uses_one() -> None:
    text = tfjob({"PS": {"resources": {"limits": {"nvidia.com/gpu": 1}}}, "Worker": {}})

    assert "nvidia.com/gpu" not in str(params_of(text))
    assert "PS.containers[0].resources.limits.nvidia.com/gpu: left out, since" in to_dos(text)


def test_a_variable_that_stands_twice_has_its_last_value() -> None:
    env = [{"name": "A", "value": "old"}, {"name": "A", "value": "new"}]

    worker = params_of(tfjob({"Worker": {"env": env}}))["extraValues"]["worker"]

    assert worker["extraEnv"] == [{"name": "A", "value": "new"}]


def test_user_0_is_let_in_where_the_manifest_asks_for_it() -> None:
    text = tfjob({"Worker": {"securityContext": {"runAsUser": 0}}})

    context = params_of(text)["extraValues"]["worker"]["containerSecurityContext"]
    assert context == {"runAsUser": 0, "runAsNonRoot": False}


@pytest.mark.parametrize("key", ["initContainers", "sidecars"])
def test_user_0_of_a_container_beside_is_let_in(key: str) -> None:
    root = {"name": "b", "image": "b:1", "securityContext": {"runAsUser": 0}}
    pod = {"initContainers": [{**root, "restartPolicy": "Always"} if key == "sidecars" else root]}

    (beside,) = params_of(tfjob({"Worker": {"pod": pod}}))["extraValues"]["worker"][key]

    assert beside["securityContext"] == {"runAsUser": 0, "runAsNonRoot": False}


def test_user_0_of_a_ps_is_let_in_when_its_pod_context_is_everybodys() -> None:
    text = tfjob({"PS": {"pod": {"securityContext": {"runAsUser": 0}}}, "Worker": {}})

    context = params_of(text)["extraValues"]["security"]["podSecurityContext"]
    assert context == {"runAsUser": 0, "runAsNonRoot": False}


def test_accounts_of_roles_that_differ_are_to_do() -> None:
    text = tfjob(
        {
            "PS": {"pod": {"serviceAccountName": "b"}},
            "Worker": {"pod": {"serviceAccountName": "a"}},
        }
    )

    assert params_of(text)["serviceAccount"] == "a"
    assert "PS.serviceAccountName: serviceAccount is the same for all roles" in to_dos(text)


def test_an_account_that_is_refused_maps_for_no_role() -> None:
    pod = {"pod": {"serviceAccountName": "No_Name"}}
    text = tfjob({"PS": pod, "Worker": pod})

    assert "serviceAccount" not in params_of(text)
    assert "Worker.serviceAccountName: left out, since" in to_dos(text)
    assert "PS.serviceAccountName: left out, and serviceAccount with it" in to_dos(text)
    assert "-> serviceAccount" not in "\n".join(one.told for one in made_of(text).entries)


def test_secrets_with_the_registrys_login_are_names() -> None:
    secrets = [{"name": "a"}, {"name": "No_Name"}, {"name": "b"}, {"name": "a"}]
    text = tfjob({"Worker": {"pod": {"imagePullSecrets": secrets}}})

    assert params_of(text)["imagePullSecrets"] == ["a", "b"]
    assert "imagePullSecrets[1]: left out, since" in to_dos(text)
    odd = tfjob({"Worker": {"pod": {"imagePullSecrets": [{"name": "a", "other": 1}, 5]}}})
    assert params_of(odd)["imagePullSecrets"] == []


POD_TO_DO: tuple[tuple[dict[str, Any], str], ...] = (
    ({"pod": {"hostNetwork": True}}, "hostNetwork"),
    ({"pod": {"dnsPolicy": "Default"}}, "dnsPolicy"),
    ({"pod": {"nodeName": "n1"}}, "nodeName"),
    ({"pod": {"automountServiceAccountToken": True}}, "automountServiceAccountToken"),
    ({"livenessProbe": {"exec": {"command": ["ls"]}}}, "livenessProbe"),
    ({"lifecycle": {"preStop": {"sleep": {"seconds": 5}}}}, "lifecycle"),
    ({"tty": True}, "tty: true"),
    ({"pod": {"hostAliases": [{"ip": "10.0.0.1"}]}}, "hostAliases: 1 item"),
    ({"devices": [1, 2]}, "devices: 2 items"),
    ({"ports": [{"containerPort": 8080}]}, "ports[0]"),
    ({"securityContext": {"privileged": True}}, "securityContext.privileged"),
    ({"fieldOfTheFuture": "x"}, "fieldOfTheFuture"),
)


@pytest.mark.parametrize(("container", "field"), POD_TO_DO)
def test_what_nothing_here_does_is_to_do(container: dict[str, Any], field: str) -> None:
    text = tfjob({"Worker": container})

    params_of(text)
    assert f"{field}: " in to_dos(text)


def test_defaults_that_a_cluster_fills_in_need_nothing() -> None:
    pod = {
        "dnsPolicy": "ClusterFirst",
        "schedulerName": "default-scheduler",
        "restartPolicy": "Never",
        "securityContext": {},
        "affinity": {"nodeAffinity": None},
    }
    container = {
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "ports": [{"containerPort": 2222, "name": "tfjob-port", "protocol": "TCP"}],
        "resources": {},
        "pod": pod,
    }
    defaults = {
        "successPolicy": "",
        "enableDynamicWorker": False,
        "runPolicy": {"suspend": False, "cleanPodPolicy": "None"},
    }

    assert to_dos(tfjob({"Worker": container}, defaults)) == to_dos(tfjob())


def test_the_run_policy_has_values_or_is_to_do() -> None:
    policy = {
        "activeDeadlineSeconds": 7200,
        "backoffLimit": 3,
        "ttlSecondsAfterFinished": 60,
        "suspend": True,
        "schedulingPolicy": {"queue": "q", "minAvailable": 3},
    }
    more = {"successPolicy": "AllWorkers", "enableDynamicWorker": True}
    text = tfjob(spec={"runPolicy": policy, **more})

    params = params_of(text)
    assert params["run"] == {"deadlineSeconds": 7200}
    assert params["extraValues"]["worker"]["backoffLimit"] == 3
    for field in (
        *("ttlSecondsAfterFinished", "suspend", "schedulingPolicy.queue"),
        *("schedulingPolicy.minAvailable", "successPolicy", "enableDynamicWorker"),
    ):
        assert f"{field}: " in to_dos(text)
    assert "3: scheduling.gang.minMember says it, with provider: coscheduling" in to_dos(text)


def test_the_first_versions_are_read_too() -> None:
    old = tfjob(spec={"cleanPodPolicy": "None", "activeDeadlineSeconds": 60})
    pod = "template: {spec: {containers: [{name: tensorflow, args: [python, /x.py]}]}}"
    list_of_replicas = f"""\
apiVersion: tensorflow.org/v1alpha1
kind: TfJob
metadata: {{name: old}}
spec:
  replicaSpecs:
    - {{replicas: 2, tfReplicaType: WORKER, {pod}}}
    - {{replicas: 1, tfReplicaType: PS, {pod}}}
"""

    assert params_of(old.replace("org/v1", "org/v1beta2"))["run"] == {"deadlineSeconds": 60}
    params = params_of(list_of_replicas)
    assert (params["workers"], params["ps"]) == (2, 1)
    assert params["program"] == {"script": "/x.py", "ps": "script"}


def test_what_the_cluster_wrote_is_left_out() -> None:
    text = tfjob(
        uid="1",
        resourceVersion="2",
        generation=1,
        creationTimestamp="2020-01-01T00:00:00Z",
        managedFields=[{"manager": "kubectl", "fieldsV1": {"f:spec": {}}}],
        annotations={"kubectl.kubernetes.io/last-applied-configuration": "{}"},
    )
    text += "status: {conditions: [{type: Succeeded}], replicaStatuses: {Worker: {succeeded: 1}}}\n"

    assert to_dos(text) == to_dos(tfjob())
    assert entry_of(text, "status").fate == "left out"


def test_a_name_that_is_none_here_is_made_one_and_is_to_do() -> None:
    params = params_of(tfjob(name="2021.Vision-" + "x" * 60))

    assert params["name"] == "vision-" + "x" * 33
    assert "is no name here: is vision-xxx" in to_dos(tfjob(name="2021.Vision-" + "x" * 60))
    assert params_of(tfjob(name=None, generateName="mnist-"))["name"] == "mnist"


def test_what_the_chart_refuses_is_taken_out_and_is_to_do() -> None:
    env = [
        {"name": "TF_CONFIG", "value": "{}"},
        {"name": "GOOD", "value": "x"},
        {"name": "NUMBER", "value": 5},
    ]
    pod = {
        "tolerations": [{"key": "a", "operator": "Odd"}, {"key": "b", "operator": "Exists"}],
        "volumes": [{"name": "g", "glusterfs": {"endpoints": "e", "path": "p"}}],
    }
    text = tfjob(
        {
            "Worker": {
                "env": env,
                "volumeMounts": [{"name": "g", "mountPath": "/g"}],
                "pod": pod,
            }
        }
    )

    worker = params_of(text)["extraValues"]["worker"]

    assert worker["extraEnv"] == [{"name": "GOOD", "value": "x"}]
    assert worker["tolerations"] == [{"key": "b", "operator": "Exists"}]
    assert worker["extraVolumes"] == worker["extraVolumeMounts"] == []
    assert "mountPath" not in "\n".join(entry.told for entry in made_of(text).entries)
    for field in ("env[0]", "env[2]", "tolerations[0]", "volumes[0]", "volumeMounts[0]"):
        assert f"{field}: left out, since" in to_dos(text)
        assert f"{field} ->" not in "\n".join(entry.told for entry in made_of(text).entries)


def test_what_the_last_round_took_out_is_not_told_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settle, "MOST_ROUNDS", 1)
    text = tfjob({"Worker": {"env": [{"name": "TF_CONFIG", "value": "{}"}]}})

    assert "env[0]: left out, since" in to_dos(text)
    assert "validate will say" not in to_dos(text)


def test_a_name_that_is_refused_leaves_the_script_as_it_is() -> None:
    job = choose("job.yaml", read_manifests("job.yaml", tfjob().encode()).jobs, None)
    draft = Draft()
    draft.put(("name",), "No_Name", ("metadata", "name"))
    draft.put(("program", "script"), "/opt/train.py", ("spec",))

    settle.settle(job, draft)

    assert draft.params() == {"name": "training", "program": {"script": "/opt/train.py"}}
    assert [entry.told for entry in job.entries if "name the training" in entry.words]


def test_what_is_left_out_piece_by_piece_does_not_map() -> None:
    context = {"privileged": True, "runAsNonRoot": False}
    whole = tfjob({"Worker": {"securityContext": {"privileged": True}}})
    part = tfjob({"Worker": {"securityContext": context}})

    for text, kept in ((whole, 0), (part, 1)):
        assert "securityContext.privileged: left out, since" in to_dos(text)
        told = "\n".join(entry.told for entry in made_of(text).entries)
        assert told.count("-> extraValues.worker.containerSecurityContext") == kept
        assert str(params_of(text)).count("containerSecurityContext") == kept


def test_a_directory_that_goes_with_a_refused_script_is_told() -> None:
    job = Job(read_document("job.yaml", b"workingDir: /w\n"), (), {"workingDir": "/w"})
    draft = Draft()
    draft.put(("program", "path"), "/w", ("workingDir",))
    job.maps(("workingDir",), "program.path")

    unmap(job, draft)
    assert [entry.fate for entry in job.entries] == ["maps"]
    draft.take_out(("program", "path"))
    unmap(job, draft)
    told = ["to do: workingDir: left out, and program.path with it"]
    assert [entry.told for entry in job.entries] == told


def test_every_to_do_names_the_manifests_line() -> None:
    text = tfjob({"Worker": {"livenessProbe": {"exec": {"command": ["ls"]}}}})

    line = entry_of(
        text,
        *("spec", "tfReplicaSpecs", "Worker", "template", "spec", "containers", 0),
        "livenessProbe",
    ).line

    assert text.splitlines()[line - 1].strip() == "livenessProbe:"


def test_what_a_person_has_to_decide_stands_as_comments_in_the_file() -> None:
    made = made_of(tfjob({"Worker": {"livenessProbe": {"exec": {"command": ["ls"]}}}}))

    for entry in (one for one in made.entries if one.words):
        comments = " ".join(line.lstrip("# ") for line in made.text.splitlines() if line[:1] == "#")
        assert (entry.words in comments) == (entry.fate == "to do")


def test_without_an_image_that_alone_is_to_do() -> None:
    made = convert("job.yaml", tfjob().encode())

    found = errors(check("params.yaml", made.text.encode()).findings)

    assert [finding.code for finding in found] == ["TFC308"]
    assert "\n# image: registry.example.com/" in made.text
    assert any(e.key == "image" and e.fate == "to do" for e in made.entries)
