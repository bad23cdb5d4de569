"""A fix is one that helps, in the words of the file; and one round tells everything."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from tf_cluster.check import check
from tf_cluster.findings.formats import Format, report
from tf_cluster.params.spelling import meant
from tf_cluster.pointer import Pointer, dotted

from tests.generator.conftest import ROOT

GOOD = "name: a\nimage: r/i:1\nprogram: {module: 'p.m:C'}\n"
SCRIPT = "name: a\nimage: r/i:1\nprogram: {script: /data/x.py, %s}\n"
HEX = "1e" + "1" * 38  # all of a commit's 40 digits, and a number to YAML


def found(text: str) -> list[str]:
    return report(check("p.yaml", text.encode()).findings, Format.TEXT).splitlines()


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        (
            f"{GOOD}run: {{id: 1.10}}",
            "4:11: TFC203: run.id is 1.10, a number; a text is needed (write it in quotes: "
            "'1.10') [/run/id]",
        ),
        (
            f"{GOOD}run: {{id: 0x10}}",
            "4:11: TFC203: run.id is 0x10, a number; a text is needed (write it in quotes: "
            "'0x10') [/run/id]",
        ),
        (
            f"{GOOD}run: {{id: true}}",
            "4:11: TFC203: run.id is true, a boolean; a text is needed (write it in quotes: "
            "'true') [/run/id]",
        ),
        (
            SCRIPT % "args: [x, 1e-4]",
            "3:41: TFC203: program.args[1] is 1e-4, a number; a text is needed (write it in "
            "quotes: '1e-4') [/program/args/1]",
        ),
        (
            f"{GOOD}run: {{id: 017}}",
            "4:11: TFC106: run.id is 017: Helm reads it as 15 (write it in quotes: '017') "
            "[/run/id]",
        ),
        (
            GOOD.replace("name: a", "name: yes"),
            "1:7: TFC106: name is yes: Helm reads it as true (write it in quotes: 'yes') [/name]",
        ),
        (
            f"{GOOD}train: {{xla: yes}}",
            "4:14: TFC106: train.xla is yes: Helm reads it as true (write true) [/train/xla]",
        ),
        (
            f"{GOOD}train: {{steps: 017}}",
            "4:16: TFC106: train.steps is 017: Helm reads it as 15 (write 15) [/train/steps]",
        ),
        (
            f"{GOOD}flags: {{a: off}}",
            "4:12: TFC106: flags.a is off: Helm reads it as false (write false, or 'off' in "
            "quotes for the text) [/flags/a]",
        ),
        (
            f"{GOOD}train: {{batchSize: 99999999999999999999}}",
            "4:20: TFC205: train.batchSize is 99999999999999999999; the most is 2147483647 "
            "(write 2147483647 or less) [/train/batchSize]",
        ),
        (
            GOOD.replace("'p.m:C'", f"'p:C', source: {{git: 'https://e.com/c', commit: {HEX}}}"),
            f"3:67: TFC107: program.source.commit is {HEX}: too large for a number (write it in "
            f"quotes: '{HEX}') [/program/source/commit]",
        ),
        (
            GOOD.replace("name: a", "name: 1e3"),
            "1:7: TFC206: name is \"1e3\", not lower-case letters, digits and '-', a letter first, "
            "no '-' at the end (did you mean 'e3'?) [/name]",
        ),
        (
            f"{GOOD}update: off",
            '4:9: TFC204: update is "off", not async or sync [/update]',
        ),
        (
            f"{GOOD}extraValues: {{worker: {{podLabels: {{a: 1.10}}}}}}",
            "4:39: TFC311: extraValues.worker.podLabels.a is 1.10, a number; a text is needed "
            "(write it in quotes: '1.10') [/extraValues/worker/podLabels/a]",
        ),
        (
            f"{GOOD}extraValues: {{commonLabels: {{a: no}}}}",
            "4:33: TFC106: extraValues.commonLabels.a is no: Helm reads it as false (write it in "
            "quotes: 'no') [/extraValues/commonLabels/a]",
        ),
        (
            f"{GOOD}extraValues: {{worker: {{extraEnv: [{{value: a}}]}}}}",
            "4:35: TFC311: 'name' is missing in extraValues.worker.extraEnv[0] (add name: …) "
            "[/extraValues/worker/extraEnv/0/name]",
        ),
        (
            f"{GOOD}extraValues: {{worker: {{resources: {{requests: {{memory: 9Gi}}}}}}}}",
            "4:55: TFC305: worker: the request of 9Gi memory is over the limit of 4Gi, the "
            "chart's default (add extraValues.worker.resources.limits.memory or lower the request) "
            "[/extraValues/worker/resources/requests/memory]",
        ),
        (
            f"{GOOD}extraValues: {{train: {{optimizer: {{momentum: 0.9}}}}}}",
            "4:45: TFC304: extraValues.train.optimizer.momentum is 0.9, but the optimizer is Adam "
            "(set train.optimizer.name: Momentum, or leave momentum out) "
            "[/extraValues/train/optimizer/momentum]",
        ),
        (
            f"{GOOD}extraValues: {{program: {{path: code}}}}",
            "4:31: TFC309: extraValues.program.path is 'code'; in a container it has to be "
            "absolute (put the code in the image, or on the data volume: /data/…) "
            "[/extraValues/program/path]",
        ),
        (
            f"{GOOD}extraValues: {{run: {{id: logs}}}}",
            "4:25: TFC312: extraValues.run.id is 'logs', which `tf-cluster run` uses for a folder "
            "of its own (choose another id) [/extraValues/run/id]",
        ),
        (
            'a: "\\ud83d\\ude00"\n',
            "1:7: TFC102: not YAML: while parsing a quoted scalar: found invalid Unicode character "
            "escape code (write the character itself: YAML has no surrogate pairs, unlike JSON)",
        ),
        (
            "name: a\n{{- if .x }}\nworkers: 3\n{{- end }}\n",
            "2:1: TFC110: a template of a params file, not one itself (render it first: tf-cluster "
            "takes the result)",
        ),
        (
            "a: b: c\nd: echo {{ x }}\n",
            "1:5: TFC102: not YAML: mapping values are not allowed in this context (a text that "
            "contains ': ' needs quotes; keys of one mapping need one indentation)",
        ),
        (
            f"{GOOD}train: {{steps: '017'}}",
            '4:16: TFC203: train.steps is "017", a text; a whole number is needed (write 15) '
            "[/train/steps]",
        ),
        (
            f"{GOOD}train: {{xla: 'on'}}",
            '4:14: TFC203: train.xla is "on", a text; true or false is needed (write true) '
            "[/train/xla]",
        ),
        (
            f"{GOOD}resources: {{worker: {{requests: {{cpu: yes}}}}}}",
            '4:38: TFC206: resources.worker.requests.cpu is "yes", not a Kubernetes quantity, as '
            "in 500m, 2, 512Mi or 4Gi [/resources/worker/requests/cpu]",
        ),
        (
            f"{GOOD}resources: {{worker: {{limits: {{nvidia.com/gpu: 1}}}}}}",
            "4:31: TFC201: unknown key 'nvidia.com/gpu' in resources.worker.limits (gpus says how "
            "many, as in gpus: 1) [/resources/worker/limits/nvidia.com~1gpu]",
        ),
        (
            f"{GOOD}extraValues: {{podLabels: {{a: b}}}}",
            "4:15: TFC311: unknown key 'podLabels' (did you mean pod.podLabels, "
            "chief.podLabels or worker.podLabels?) [/extraValues/podLabels]",
        ),
        (
            GOOD.replace("name: a", "name: {{ name }}"),
            "1:8: TFC110: a template of a params file, not one itself (render it first: tf-cluster "
            "takes the result)",
        ),
    ],
)
def test_a_fix_helps(text: str, finding: str) -> None:
    assert found(text) == ["p.yaml:" + finding]


@pytest.mark.parametrize(
    ("text", "findings"),
    [
        ("notebok: yes", ["TFC106 /notebok", "TFC201 /notebok"]),
        ("train: {stpes: 017}", ["TFC106 /train/stpes", "TFC201 /train/stpes"]),
        (
            "resources: {workers: {requests: {cpu: 2 cores}}}",
            ["TFC201 /resources/workers", "TFC206 /resources/workers/requests/cpu"],
        ),
        (
            "extraValues: {wroker: {nodeSelecter: {a: 'b c'}}}",
            [
                "TFC311 /extraValues/wroker",
                "TFC311 /extraValues/wroker/nodeSelecter",
                "TFC311 /extraValues/wroker/nodeSelecter/a",
            ],
        ),
        (
            "train: {stpes: 10, checkpont: {steps: 20}}",
            ["TFC201 /train/stpes", "TFC201 /train/checkpont", "TFC306 /train/checkpont/steps"],
        ),
        ("data:", ["TFC203 /data"]),
        ("data: yes", ["TFC106 /data"]),
        ("workers: '0'", ["TFC203 /workers", "TFC205 /workers"]),
        ("train: {steps: x}\ntrain: {steps: 5}", ["TFC105 /train", "TFC203 /train/steps"]),
        ("wrokers: 3\nworkers: x", ["TFC201 /wrokers", "TFC203 /workers"]),
        ("wrokers: x\nworekrs: z", ["TFC201 /wrokers", "TFC203 /wrokers", "TFC201 /worekrs"]),
    ],
)
def test_one_round_tells_everything(text: str, findings: list[str]) -> None:
    told = [line.split(": ")[1] + " " + line.split("[")[-1][:-1] for line in found(GOOD + text)]

    assert sorted(told) == sorted(findings)


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        (
            GOOD.replace("name: a", "nmae: a"),
            "1:1: TFC201: unknown key 'nmae' (did you mean 'name'?) [/nmae]",
        ),
        (
            GOOD.replace("module", "modul"),
            "3:11: TFC201: unknown key 'modul' in program (did you mean 'module'?) "
            "[/program/modul]",
        ),
        (
            GOOD.replace("program", "progam"),
            "3:1: TFC201: unknown key 'progam' (did you mean 'program'?) [/progam]",
        ),
    ],
)
def test_one_typing_error_is_one_finding(text: str, finding: str) -> None:
    assert found(text) == ["p.yaml:" + finding]


@pytest.mark.parametrize(
    "program",
    [
        "command: [python, train.py]",
        "program: {command: [python, train.py]}",
        "script: {a: b}",
    ],
)
def test_a_key_that_another_one_stands_for_is_not_missing(program: str) -> None:
    (line,) = found(f"name: a\nimage: r/i:1\n{program}\n")

    assert "(did you mean program.script?)" in line


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("cpu: 2", "resources.worker.requests.cpu or resources.worker.limits.cpu"),
        ("resources: {memory: 4Gi}", "resources.worker.requests.memory or resources.worker.lim"),
        ("resources: {limits: {cpu: 2}}", "resources.worker.limits"),
    ],
)
def test_of_the_same_setting_of_each_role_the_workers_is_proposed(text: str, places: str) -> None:
    (line,) = found(GOOD + text)

    assert f"(did you mean {places}" in line


@pytest.mark.parametrize(
    ("word", "words", "right"),
    [
        ("stpes", ["steps", "stepsPerCall"], "steps"),
        ("Workers", ["worker", "workers"], "workers"),
        ("gpus", ["ps", "update"], ""),
        ("namespace", ["name"], ""),
        ("release", ["preset"], ""),
        ("abd", ["abc", "abe"], ""),  # two are as near
        ("", ["a"], ""),
        ("x" * 100_000, ["x" * 100_000], ""),
    ],
)
def test_a_word_is_meant_when_one_is_near(word: str, words: list[str], right: str) -> None:
    assert meant(word, words) == right


def test_a_misspelt_key_of_the_program_does_not_hide_what_its_code_lacks() -> None:
    text = GOOD.replace("module: 'p.m:C'", "modul: 'tf_cluster_trainer.examples.digit:Digits'")
    unknown, absent = found(text)

    assert ": TFC201: unknown key 'modul'" in unknown
    assert ": TFC502: " in absent and absent.endswith("[/program/modul]")


@pytest.mark.parametrize("program", ["", "3", "train", "[a]", "{module: 'a:B', source: }"])
def test_a_program_that_is_no_mapping_is_one_finding(program: str) -> None:
    (line,) = found(f"name: a\nimage: r/i:1\nprogram: {program}\n")

    assert ": TFC203: program" in line
    assert "a mapping is needed" in line


# What has no key of that name, and what people mean by a word

EVERYTHING = (ROOT / "values-examples" / "everything.params.yaml").read_text()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("nvidia.com/gpu: 1", "gpus says how many, as in gpus: 1"),
        ("interactive: true", "values-examples/interactive.values.yaml is such a cluster"),
        ("affinity: {}", "extraValues.pod.affinity has it"),
        ("namespace: a", "Helm has it: helm install NAME CHART --namespace NAMESPACE"),
        ("epochs: 3", "train.steps says how long: epochs × examples / batchSize, and with"),
        ("monitoring: {}", "the chart's value of that name is extraValues.monitoring"),
        ("timeout: 1h", "run.deadlineSeconds ends a run, as in 86400 for a day"),
        ("gpus: {worker: 1, vendor: amd}", "did you mean 'amd.com/gpu'?"),
        ("worker: {replicas: 3}", "workers is their number, resources.worker what each gets; the "),
        ("batch_size: 3", "did you mean train.batchSize?"),
        ("lr: 0.1", "did you mean train.optimizer.learningRate?"),
        ("train: {lr: 0.1}", "did you mean train.optimizer.learningRate?"),
        ("resources: {worker: {cpu: 1}}", "resources.worker.requests.cpu or resources.worker.l"),
        ("strategy: ps", "did you mean 'parameter-server'?"),
        ("strategy: MirroredStrategy", "did you mean 'all-reduce'?"),
        ("update: synchronous", "did you mean 'sync'?"),
        ("replication: between_graph", "did you mean 'between-graph'?"),
        ("train: {precision: fp16}", "did you mean 'mixed_bfloat16'?"),
        ("train: {optimizer: adam}", "write it as a mapping: {name: Adam}"),
        ("train: {optimizer: {name: sgd}}", "did you mean 'SGD'?"),
        ("data: {accessModes: [RWX]}", "did you mean 'ReadWriteMany'?"),
        ("data: {accessModes: RWX}", "write it as a list: [ReadWriteMany]"),
        ("strategy: ParameterServerStrategy", "did you mean 'parameter-server'?"),
        ("strategy: ParameterServerStrategyV2", "did you mean 'parameter-server'?"),
        ("sync: true", "update says it, as in update: sync"),
        ("mode: sync", "did you mean 'update'?"),
        ("update: sync_replicas", "did you mean 'sync'?"),
        ("replication: between", "did you mean 'between-graph'?"),
        ("train: {checkpointSeconds: 600}", "did you mean train.checkpoint.seconds?"),
        ("train: {save_every: 600}", "train.checkpoint says how often, as in checkpoint: {sec"),
        ("train: {checkpointing: true}", "train.checkpoint says how often"),
        ("checkpoints: 3", "train.checkpoint says how often"),
        ("train: {checkpoint: 600}", "write it as a mapping: {seconds: 600}"),
        ("train: {jit: true}", "did you mean 'xla'?"),
        ("train: {amp: true}", "train.precision says it, as in precision: mixed_bfloat16"),
        ("train: {mixed_precision: true}", "train.precision says it"),
        ("train: {optimizer: {name: rmsprop}}", "Adam is the nearest to it here"),
        ("optimizer: Adam", "did you mean train.optimizer.name?"),
        ("precision: fp8", "did you mean train.precision?"),
        ("eval: true", "did you mean 'evaluator'?"),
        ("runId: a", "did you mean run.id?"),
        ("output: {claim: a}", "log is the volume at /log: checkpoints, events, exports"),
        ("logdir: /log/a", "log is the volume at /log: checkpoints, events, exports"),
        ("dataset: mnist", "data is the volume at /data; flags are the program's own settings"),
        ("extraEnv: []", "extraValues.worker.extraEnv has variables"),
        ("backoffLimit: 3", "extraValues.worker.backoffLimit and extraValues.chief.backoffLimit"),
        ("restartPolicy: Never", "failed pods are replaced: extraValues.worker.backoffLimit"),
        ("ttl: 60", "a release stays until helm uninstall"),
        ("pullPolicy: Always", "extraValues.image.pullPolicy has it"),
        ("ps: {replicas: 2}", "write the number alone: 2"),
        ("scheduling: {gang: kueue}", "scheduling.queue names a LocalQueue of Kueue"),
        ("scheduling: {gang: {provider: kueue}}", "scheduling.queue names a LocalQueue of Kueue"),
        ("scheduling: {gang: volcano}", "write it as a mapping: {provider: volcano}"),
        ("scheduling: {gang: true}", "write it as a mapping with provider"),
        ("evaluator: {exportBest: a}", "write it as a mapping with metric and mode"),
        ("data: false", "write it as a mapping: {enabled: false}"),
        ("gpus: {count: 1}", "did you mean 'worker'?"),
        ("data: {existingClaim: a}", "did you mean 'claim'?"),
        ("evaluator: {exportBest: {metric: a, mode: maximum}}", "did you mean 'max'?"),
    ],
)
def test_a_word_of_another_field_is_understood(text: str, words: str) -> None:
    (line,) = found(GOOD + text)

    assert words in line


@pytest.mark.parametrize("word", ["gpu", "GPU", "gpus", "nvidia.com/gpu"])
@pytest.mark.parametrize("which", ["requests", "limits"])
def test_a_gpu_is_never_read_as_a_cpu(word: str, which: str) -> None:
    (line,) = found(f"{GOOD}resources: {{worker: {{{which}: {{{word}: 1}}}}}}")

    assert f"unknown key '{word}' in resources.worker.{which} (gpus says how many, as in" in line


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("tpus: 8", " (there are no TPUs here: gpus says how many GPUs a worker has)"),
        ("date: 2026-01-01", ""),
        ("notes: hello", ""),
        ("noodes: hello", ""),
        ("worekrs: [1]", ""),
        ("scheduler: volcano", " (scheduling.gang has it, as in scheduling: {gang: {provider: vol"),
        ("progam2: x.py", " (did you mean 'program'?)"),
    ],
)
def test_a_guess_is_not_bold(text: str, words: str) -> None:
    at = f"p.yaml:4:1: TFC201: unknown key '{text.partition(':')[0]}'{words or ' ['}"

    assert found(GOOD + text)[0].startswith(at)


@pytest.mark.parametrize("word", ["abc", "nothing", "tiny", "ReadOnly"])
def test_a_word_that_resembles_nothing_gets_no_suggestion(word: str) -> None:
    for text in (f"{word}: 1", f"preset: {word}", f"log: {{accessModes: [{word}]}}"):
        assert "did you mean" not in "".join(found(GOOD + text)), text


@pytest.mark.parametrize(
    ("key", "written", "right"),
    [
        ("data: {size: %s}", "10GB", "'10G'?"),
        ("data: {size: %s}", "10GiB", "'10Gi'?"),
        ("data: {size: %s}", "20000000KB", "'20000000k'?"),
        ("resources: {worker: {limits: {memory: %s}}}", "4 Gi", "'4Gi'?"),
        ("resources: {worker: {limits: {memory: %s}}}", "4g", "'4Gi'?"),
        ("resources: {worker: {limits: {memory: %s}}}", "8192mb", "'8192Mi'?"),
        ("run: {deadlineSeconds: %s}", "1h", "3600?"),
        ("run: {deadlineSeconds: %s}", "2 days", "172800?"),
        ("train: {checkpoint: {seconds: %s}}", "10m", "600?"),
        ("train: {steps: %s}", "10k", "10000?"),
        ("train: {steps: %s}", "2M", "2000000?"),
        ("train: {steps: '%s'}", "1,000", "1000?"),
    ],
)
def test_a_unit_that_others_have_is_understood(key: str, written: str, right: str) -> None:
    (line,) = found(GOOD + key % written)

    assert f'is "{written}", ' in line
    assert f"(did you mean {right})" in line


@pytest.mark.parametrize("rate", ["1,000", "10m", "10k"])
def test_a_number_that_may_be_another_is_no_guess(rate: str) -> None:
    (line,) = found(f"{GOOD}train: {{optimizer: {{learningRate: '{rate}'}}}}")

    assert "did you mean" not in line


def test_a_comma_in_a_number_is_told() -> None:
    (line,) = found(GOOD + "train: {steps: 1,000}")

    assert "(a comma ends a value: write the number before it without one)" in line


# A wrong value hides nothing, and is one finding


def _leaves(data: Any, path: Pointer = ()) -> Iterator[Pointer]:
    if not isinstance(data, dict):
        yield path
        return
    for key, value in data.items():
        yield from _leaves(value, (*path, key))


def _with(data: Any, path: Pointer, value: Any) -> Any:
    return {**data, path[0]: _with(data[path[0]], path[1:], value)} if path else value


LEAVES = [path for path in _leaves(yaml.safe_load(EVERYTHING)) if path[0] != "flags"]


def pointers(data: Any) -> set[Pointer]:
    findings = check("p.yaml", yaml.safe_dump(data).encode()).findings
    return {one.pointer for one in findings if one.severity != "advice"}


@pytest.mark.parametrize("wrong", [{"zz": 1}, "not this\n", -1.5], ids=str)
@pytest.mark.parametrize("path", LEAVES, ids=dotted)
def test_a_wrong_value_is_one_finding_whatever_rests_on_it(path: Pointer, wrong: Any) -> None:
    data = yaml.safe_load(EVERYTHING)

    told = pointers(_with(data, path, wrong))

    assert {pointer[: len(path)] for pointer in told} <= {path}


def test_all_values_that_are_wrong_are_told_at_once() -> None:
    data = yaml.safe_load(EVERYTHING)
    for path in LEAVES:
        data = _with(data, path, {"surprise": 1})  # each its own: one of all would be an alias

    told = pointers(data)

    for path in LEAVES:
        assert path in told or (*path, "surprise") in told, path


def test_all_keys_that_are_mistyped_are_told_at_once_with_what_is_below() -> None:
    data = {"name": "a", "image": "r/i:1", "progam": {"modul": "x y"}}
    data["trian"] = {"stpes": "no", "optimiser": {"nmae": "adam", "momentun": 0.5}}
    data["extraValues"] = {"wroker": {"replcas": "some", "nodeSelecter": {"a": "b c"}}}
    told = pointers(data)

    assert told == {
        *(("progam",), ("progam", "modul"), ("trian",), ("trian", "stpes")),
        *(("trian", "optimiser"), ("trian", "optimiser", "nmae")),
        ("trian", "optimiser", "momentun"),
        *(("extraValues", "wroker"), ("extraValues", "wroker", "replcas")),
        *(
            ("extraValues", "wroker", "nodeSelecter"),
            ("extraValues", "wroker", "nodeSelecter", "a"),
        ),
    }
