"""Each thing that can be wrong with a params file: where it is told, and how to fix it."""

from __future__ import annotations

import pytest
from tf_cluster.check import check
from tf_cluster.checks.absolute_paths import PATH_NOT_ABSOLUTE
from tf_cluster.checks.image import IMAGE_MISSING
from tf_cluster.findings.formats import Format, report
from tf_cluster.pointer import json_pointer

GOOD = "name: a\nimage: r/i:1\nprogram: {module: 'p.m:C'}\n"


def found(text: str | bytes) -> list[str]:
    raw = text.encode() if isinstance(text, str) else text
    return report(check("p.yaml", raw).findings, Format.TEXT).splitlines()


def test_a_five_line_file_is_enough() -> None:
    five = "name: digits\nimage: r/i:1\nprogram:\n  module: a.b:C\ntrain: {steps: 100}\n"
    assert found(five) == []


POLICY = "extraValues: {security: {networkPolicy: {statusFrom: "
STATUS_FROM = "extraValues.security.networkPolicy.statusFrom"
STATUS_AT = "/extraValues/security/networkPolicy/statusFrom"


@pytest.mark.parametrize(
    ("extra", "finding"),
    [
        (
            "wrokers: 3",
            "4:1: TFC201: unknown key 'wrokers' (did you mean 'workers'?) [/wrokers]",
        ),
        (
            "steps: 3",
            "4:1: TFC201: unknown key 'steps' (did you mean train.steps?) [/steps]",
        ),
        (
            "train:\n  stpes: 3",
            "5:3: TFC201: unknown key 'stpes' in train (did you mean 'steps'?) [/train/stpes]",
        ),
        (
            "workers: two",
            '4:10: TFC203: workers is "two", a text; a whole number is needed [/workers]',
        ),
        (
            "workers: '2'",
            '4:10: TFC203: workers is "2", a text; a whole number is needed '
            "(write it without quotes) [/workers]",
        ),
        (
            "run: {id: 2}",
            "4:11: TFC203: run.id is 2, a number; a text is needed "
            "(write it in quotes: '2') [/run/id]",
        ),
        ("workers:", "4:1: TFC203: workers is empty; a whole number is needed [/workers]"),
        ("workers: 0", "4:10: TFC205: workers is 0; at least 1 is needed [/workers]"),
        ("train: []", "4:8: TFC203: train is [], a list; a mapping is needed [/train]"),
        (
            "preset: smal",
            '4:9: TFC204: preset is "smal", not small, medium or large '
            "(did you mean 'small'?) [/preset]",
        ),
        (
            "train: {optimizer: {name: adam}}",
            '4:27: TFC204: train.optimizer.name is "adam", not SGD, Momentum, Adam or Adagrad '
            "(did you mean 'Adam'?) [/train/optimizer/name]",
        ),
        (
            "train: {optimizer: {momentum: 0.9}}",
            "4:31: TFC304: train.optimizer.momentum is 0.9, but the optimizer is Adam (set "
            "train.optimizer.name: Momentum, or leave momentum out) [/train/optimizer/momentum]",
        ),
        (
            "train: {optimizer: {schedule: {endFactor: 0.1}}}",
            "4:43: TFC319: train.optimizer.schedule.endFactor is 0.1, but by the schedule constant "
            "nothing decays (set train.optimizer.schedule.name: cosine, linear or exponential, or "
            "leave endFactor out) [/train/optimizer/schedule/endFactor]",
        ),
        (
            "train: {optimizer: {schedule: {name: exponential}}}",
            "4:38: TFC320: an exponential decay never comes to 0, so it needs an endFactor (add "
            "endFactor: 0.01, or take name: cosine) [/train/optimizer/schedule/name]",
        ),
        (
            "train: {steps: 100, optimizer: {schedule: {name: linear, warmupSteps: 100}}}",
            "4:71: TFC321: warning: the learning rate rises for 100 steps, and the run has 100 "
            "(set train.optimizer.schedule.warmupSteps: 5, say) "
            "[/train/optimizer/schedule/warmupSteps]",
        ),
        (
            "strategy: all-reduce\nupdate: async",
            "5:9: TFC303: all-reduce / between-graph / async do not go together (leave out update: "
            "all-reduce is between-graph and sync) [/update]",
        ),
        (
            "strategy: all-reduce\nupdate: async\nreplication: in-graph",
            "6:14: TFC303: all-reduce / in-graph / async do not go together (leave out replication "
            "and update: all-reduce is between-graph and sync) [/replication]",
        ),
        (
            "strategy: all-reduce\nps: 2",
            "5:5: TFC318: ps is set, but strategy all-reduce has no parameter servers "
            "(leave out ps) [/ps]",
        ),
        (
            "strategy: all-reduce\nresources: {ps: {requests: {cpu: 1}, limits: {cpu: 2}}}",
            "5:17: TFC318: resources.ps is set, but strategy all-reduce has no parameter servers "
            "(leave out resources.ps) [/resources/ps]",
        ),
        (
            "replication: between-graph\nresources: {chief: {requests: {cpu: 1}}}",
            "5:20: TFC318: resources.chief is set, but replication between-graph has no chief: "
            "worker 0 does its work (leave out resources.chief) [/resources/chief]",
        ),
        (
            "strategy: all-reduce\nextraValues: {ps: {nodeSelector: {disk: ssd}}}",
            "5:19: TFC318: extraValues.ps is set, but strategy all-reduce has no parameter servers "
            "(leave out extraValues.ps) [/extraValues/ps]",
        ),
        (
            "resources: {evaluator: {requests: {cpu: 1}}}",
            "4:24: TFC318: resources.evaluator is set, but there is no evaluator unless it is "
            "asked for (add evaluator: true, or leave out resources.evaluator) "
            "[/resources/evaluator]",
        ),
        (
            "evaluator: {exportBest: {metric: accuracy}}",
            "4:13: TFC202: 'mode' is missing in evaluator.exportBest (add mode: max or min) "
            "[/evaluator/exportBest/mode]",
        ),
        (
            "evaluator: yes please",
            '4:12: TFC203: evaluator is "yes please", a text; true or false or a mapping is needed '
            "[/evaluator]",
        ),
        (
            "evaluator: true\nextraValues: {evaluator: {enabled: false}}",
            "5:36: TFC310: extraValues.evaluator.enabled sets again what evaluator sets "
            "(keep one of them) [/extraValues/evaluator/enabled]",
        ),
        (
            "data: {claim: here, size: 5Gi}",
            "4:21: TFC207: data.size is for a claim that the chart makes, data.claim names one "
            "that exists (keep one of them) [/data/size]",
        ),
        (
            "resources: {worker: {requests: {memory: 8Gi}}}",
            "4:41: TFC305: worker: the request of 8Gi memory is over the limit of 4Gi, the "
            "chart's default (add resources.worker.limits.memory or lower the request) "
            "[/resources/worker/requests/memory]",
        ),
        (
            "preset: large\nresources: {ps: {limits: {memory: 512Mi}}}",
            "5:35: TFC305: ps: the request of 8Gi memory, the preset large's default, is over the "
            "limit of 512Mi (raise resources.ps.limits.memory or add resources.ps.requests.memory) "
            "[/resources/ps/limits/memory]",
        ),
        (
            "resources: {worker: {limits: {memory: 512Mi}}}",
            "4:39: TFC305: worker: the request of 1Gi memory, the chart's default, is over the "
            "limit of 512Mi (raise resources.worker.limits.memory or add "
            "resources.worker.requests.memory) [/resources/worker/limits/memory]",
        ),
        (
            "resources: {ps: {requests: {memory: 8Gi}, limits: {memory: 4Gi}}}",
            "4:37: TFC305: ps: the request of 8Gi memory is over the limit of 4Gi (raise "
            "resources.ps.limits.memory or lower the request) [/resources/ps/requests/memory]",
        ),
        (
            "workers: 1e9",
            "4:10: TFC205: workers is 1000000000; the most is 10000 (write 10000 or less) "
            "[/workers]",
        ),
        (
            f"{POLICY}{{podSelector: {{}}}}}}}}}}",
            f"4:54: TFC311: {STATUS_FROM} is a mapping; a list is needed (make it a list of one: "
            f"'- ' before its first key, or [ ] around it) [{STATUS_AT}]",
        ),
        (
            "extraValues: {pod: {extraEnv: {A: 1, B: x}}}",
            "4:31: TFC311: extraValues.pod.extraEnv is a mapping; a list is needed (make it a "
            "list: [{name: A, value: …}, …]) [/extraValues/pod/extraEnv]",
        ),
        (
            f"{POLICY}[{{namespaceSelector: {{}}, ipBlock: {{cidr: 10.0.0.0/8}}}}]}}}}}}",
            f"4:55: TFC311: {STATUS_FROM}[0] has namespaceSelector and ipBlock, which do not go "
            f"together (keep one of them) [{STATUS_AT}/0]",
        ),
        (
            "extraValues: {worker: {extraEnv: [{name: A, value: b, valueFrom: {fieldRef: "
            "{fieldPath: metadata.name}}}]}}",
            "4:35: TFC311: extraValues.worker.extraEnv[0] has value and valueFrom, which do not go "
            "together (keep one of them) [/extraValues/worker/extraEnv/0]",
        ),
        (
            "extraValues: {tensorboard: {logdir: /log/..}}",
            '4:37: TFC311: extraValues.tensorboard.logdir is "/log/..", not /log, or a directory '
            "below it: letters, digits, '.', '_' and '-' [/extraValues/tensorboard/logdir]",
        ),
        (
            "resources: {ps: {requests: {memory: 2GB}}}",
            '4:37: TFC206: resources.ps.requests.memory is "2GB", not a Kubernetes quantity, as in '
            "500m, 2, 512Mi or 4Gi (did you mean '2G'?) [/resources/ps/requests/memory]",
        ),
        (
            "resources: {ps: {requests: {memory: '1e99999999'}}}",
            '4:37: TFC206: resources.ps.requests.memory is "1e99999999", not a Kubernetes '
            "quantity, as in 500m, 2, 512Mi or 4Gi [/resources/ps/requests/memory]",
        ),
        (
            "extraValues: {ps: {resources: {limits: {memory: '1e99999999'}}}}",
            '4:49: TFC311: extraValues.ps.resources.limits.memory is "1e99999999", not a '
            "Kubernetes quantity, as in 500m, 2, 512Mi or 4Gi "
            "[/extraValues/ps/resources/limits/memory]",
        ),
        (
            "flags: {a: {b: 1}}",
            '4:12: TFC203: flags.a is {"b": 1}, a mapping; a text, a number, true or false or a '
            "list is needed [/flags/a]",
        ),
        (
            "data: {accessModes: [ReadWriteOnce, ReadWriteMay]}",
            '4:37: TFC204: data.accessModes[1] is "ReadWriteMay", not ReadWriteOnce, '
            "ReadWriteMany or ReadOnlyMany (did you mean 'ReadWriteMany'?) [/data/accessModes/1]",
        ),
        (
            "log: {accessModes: [ReadOnlyMany]}",
            '4:21: TFC204: log.accessModes[0] is "ReadOnlyMany", not ReadWriteOnce or '
            "ReadWriteMany [/log/accessModes/0]",
        ),
        (
            "data: {size: 1e-7}",
            "4:14: TFC205: data.size is 1e-07; at least 1 is needed [/data/size]",
        ),
        (
            "data: {size: '0'}",
            '4:14: TFC205: data.size is "0"; at least 1M is needed (as in 500Mi, 5Gi or 1Ti) '
            "[/data/size]",
        ),
        (
            "extraValues: {storage: {log: {size: 0Gi}}}",
            '4:37: TFC205: extraValues.storage.log.size is "0Gi"; at least 1M is needed '
            "(as in 500Mi, 5Gi or 1Ti) [/extraValues/storage/log/size]",
        ),
        (
            "extraValues: {nameOverride: Bad_Name}",
            '4:29: TFC311: extraValues.nameOverride is "Bad_Name", not lower-case letters, digits '
            "and '-', "
            "no '-' at the ends [/extraValues/nameOverride]",
        ),
        (
            "extraValues: {ps: {podLabels: {id: b c}}}",
            '4:36: TFC311: extraValues.ps.podLabels.id is "b c", not a label\'s value: at most 63 '
            "letters, "
            "digits, '.', '_' and '-', with a letter or digit first and last "
            "[/extraValues/ps/podLabels/id]",
        ),
        (
            "data: {claim: a..b}",
            "4:15: TFC206: data.claim is \"a..b\", not lower-case letters, digits, '-' and '.', as "
            "Kubernetes names objects [/data/claim]",
        ),
        (
            "train: {checkpoint: {steps: 5000}}",
            "4:29: TFC306: warning: a checkpoint every 5000 steps never comes in a run of 1000 "
            "(the last step is saved in any case) [/train/checkpoint/steps]",
        ),
        (
            "run: {id: logs}",
            "4:11: TFC312: run.id is 'logs', which `tf-cluster run` uses for a folder of its own "
            "(choose another id) [/run/id]",
        ),
        (
            "train: {steps: 5}\ntrain: {steps: 6}",
            "5:1: TFC105: the key 'train' stands twice, first on line 4 (keep one of them) "
            "[/train]",
        ),
        (
            "flags: {seed: .inf}",
            "4:15: TFC107: flags.seed is .inf: values files can't hold it (write a number) "
            "[/flags/seed]",
        ),
        (
            "flags: {big: 9007199254740993}",
            "4:14: TFC109: flags.big is 9007199254740993: Helm keeps whole numbers exactly only "
            "up to 2^53 (write it in quotes, as a text) [/flags/big]",
        ),
        (
            "flags: {on: 1}",
            "4:9: TFC106: the key on is not read as text by Helm (write it in quotes: 'on') "
            "[/flags/on]",
        ),
        (
            "flags: &x {a: 1}\nextraValues: {<<: *x}",
            "5:15: TFC108: merge keys (<<) are not supported (write the keys out) [/extraValues]",
        ),
        (
            "extraValues: {wroker: {}}",
            "4:15: TFC311: unknown key 'wroker' in extraValues (did you mean 'worker'?) "
            "[/extraValues/wroker]",
        ),
        (
            "extraValues: {peers: {deadlineSeconds: soon}}",
            '4:40: TFC311: extraValues.peers.deadlineSeconds is "soon", a text; a number is needed '
            "[/extraValues/peers/deadlineSeconds]",
        ),
        (
            "extraValues: {evaluator: true}",
            "4:26: TFC311: extraValues.evaluator is true, a boolean; a mapping is needed "
            "[/extraValues/evaluator]",
        ),
        (
            "workers: 2\nextraValues: {worker: {replicas: 3}}",
            "5:34: TFC310: extraValues.worker.replicas sets again what workers sets "
            "(keep one of them) [/extraValues/worker/replicas]",
        ),
        (
            "extraValues: {train: null}",
            "4:22: TFC311: extraValues.train is null, which removes what the chart needs there "
            "(leave it out, or give a value) [/extraValues/train]",
        ),
    ],
)
def test_one_wrong_thing_is_told_with_place_and_fix(extra: str, finding: str) -> None:
    assert found(GOOD + extra) == ["p.yaml:" + finding]


@pytest.mark.parametrize(
    ("module", "fix"),
    [
        ("my.model.Net", "did you mean 'my.model:Net'?"),
        ("my.model", "add the class: my.model:ClassName"),
        (
            "code/train.py",
            "name the module and a class in it: code.train:ClassName; a script is program.script",
        ),
        (
            "code/train.py:Net",
            "name the module and a class in it: code.train:Net; a script is program.script",
        ),
    ],
)
def test_a_program_that_is_no_class_is_told_the_form(module: str, fix: str) -> None:
    (line,) = found(f"name: a\nimage: r/i:1\nprogram:\n  module: {module}\n")

    assert line.startswith("p.yaml:4:11: TFC206: program.module is ")
    assert "not package.module:ClassName" in line
    assert f"({fix})" in line


@pytest.mark.parametrize(
    "key",
    [
        "data: {size: '%s'}",
        "resources: {ps: {limits: {cpu: '%s'}}}",
        "resources: {ps: {limits: {memory: '%s'}}}",
        "extraValues: {worker: {resources: {limits: {nvidia.com/gpu: '%s'}}}}",
        "extraValues: {worker: {resources: {limits: {hugepages-2Mi: '%s', cpu: 1}}}}",
    ],
)
def test_a_number_of_thousands_of_digits_is_a_finding(key: str) -> None:
    (line,) = found(GOOD + key % ("9" * 5000))

    assert len(line) < 250


def test_a_missing_program_class_is_told_where_it_belongs() -> None:
    assert found("name: a\nimage: r/i:1\nprogram: {}\n") == [
        "p.yaml:3:1: TFC202: 'module' or 'script' is missing in program (add module: "
        "tf_cluster_trainer.examples.digits:Digits) [/program/module]"
    ]


@pytest.mark.parametrize(
    "image",
    [
        "Foo",
        "r/Foo",
        "Foo:1",
        "a..b/c",
        "-a/b",
        "r/i:",
        "r//i",
        "r/i@sha256:1",
        "a___b",
        "r.io:x/i",
    ],
)
def test_what_is_no_image_reference_is_refused(image: str) -> None:
    (line,) = found(GOOD.replace("r/i:1", f"'{image}'"))

    assert "TFC206: image is" in line
    assert "with a lower-case repository" in line


@pytest.mark.parametrize(
    "image", ["foo", "R.io/a", "r.io:5000/a__b/c-d.e_f:T", "localhost/a", "a:5"]
)
def test_an_image_reference_is_accepted(image: str) -> None:
    assert found(GOOD.replace("r/i:1", f"'{image}'")) == []


@pytest.mark.parametrize("claim", ["a.-b", "a.", ".a", "a-.b", "A"])
def test_what_is_no_objects_name_is_refused(claim: str) -> None:
    for volume in ("data", "log"):
        (line,) = found(GOOD + f"{volume}: {{claim: {claim}}}")
        assert "TFC206" in line


def test_a_name_that_is_too_long_is_told_with_the_derived_name_that_bursts() -> None:
    name = "n" * 41
    (line,) = found(GOOD.replace("name: a", f"name: {name}"))

    assert line.startswith("p.yaml:1:7: TFC301: name is 41 characters long, at most 40")
    assert f"{name}-cleanup-3f2a9c1b-0000 would have" in line


def test_a_name_of_forty_characters_is_accepted() -> None:
    assert found(GOOD.replace("name: a", "name: " + "n" * 40)) == []


@pytest.mark.parametrize("name", ["Digits", "1st", "a_b", "a.b", "a-", "-a", "ü"])
def test_a_name_that_is_no_dns_label_is_refused(name: str) -> None:
    (line,) = found(GOOD.replace("name: a", f"name: {name}"))

    assert "TFC206" in line


def test_a_cluster_needs_an_image_and_a_local_run_does_not() -> None:
    raw = b"name: a\nprogram: {module: 'p:C'}\n"

    assert [f.code for f in check("p", raw).findings] == [IMAGE_MISSING]
    assert check("p", raw, for_cluster=False).good


def test_a_relative_program_path_is_for_local_runs_only() -> None:
    raw = b"name: a\nimage: r/i:1\nprogram: {module: 'p:C', path: code}\n"

    assert [f.code for f in check("p", raw).findings] == [PATH_NOT_ABSOLUTE]
    assert check("p", raw, for_cluster=False).good


def test_everything_wrong_is_told_at_once_from_top_to_bottom() -> None:
    lines = found(
        "nmae: digits\nworkers: many\nstrategy: all-reduce\nupdate: async\ntrain:\n  stpes: 1\n"
        "extraValues: {chef: {}}\nresources: {ps: {requests: {memory: 9Gi}}}\n"
    )

    told = [line.split(": ")[1] for line in lines]
    assert sorted(told) == sorted(
        "TFC201 TFC202 TFC308 TFC203 TFC303 TFC201 TFC311 TFC318 TFC318 TFC305".split()  # noqa: SIM905
    )
    places = [tuple(map(int, line.split(":")[1:3])) for line in lines]
    assert places == sorted(places)


@pytest.mark.parametrize(
    ("raw", "finding"),
    [
        (b"", "p.yaml:1:1: TFC103: the file is empty (`tf-cluster init` writes a start)"),
        (b"# only words\n", "p.yaml:1:1: TFC103: the file is empty"),
        (b"- a\n- b\n", "p.yaml:1:1: TFC104: the file holds a list"),
        (b"hello", "p.yaml:1:1: TFC104: the file holds one value"),
        (b"name: a\n  b: c\n", "p.yaml:2:4: TFC102: not YAML: mapping values are not allowed"),
        (b"name: a\ntrain:\n\tsteps: 1\n", "p.yaml:3:1: TFC102: not YAML:"),
        (b"name: 'a\n", "p.yaml:1:7: TFC102: not YAML: this quote is not closed (close it)"),
        (b'name: a\nrun: {id: "b}\nps: 2\n', "p.yaml:2:11: TFC102: not YAML: this quote is not"),
        (b"name: a\nworkers:3\n", "p.yaml:2:1: TFC102: not YAML: no blank after 'workers:'"),
        (b"name: a\nworkers = 3\n", "p.yaml:2:1: TFC102: not YAML: no colon after 'workers'"),
        (b"a:\n- key = value\npath = /x\n", "p.yaml:3:1: TFC102: not YAML: no colon after 'path'"),
        (b"name = a\nps=2\nx: 1\n", "p.yaml:1:1: TFC102: not YAML: no colon after 'name'"),
        (b"name: a\nworkers:3\nps:2\n", "p.yaml:2:1: TFC102: not YAML: no blank after 'workers:'"),
        (
            b"train:\n  steps:3\n  xla: on\n",
            "p.yaml:2:3: TFC102: not YAML: no blank after 'steps:'",
        ),
        (b"x:\n  a:1\n  # c\n  c:2\n  b: 2\n", "p.yaml:2:3: TFC102: not YAML: no blank after 'a:'"),
        (b"a:\n- key:a\n  b: c\n", "p.yaml:2:3: TFC102: not YAML: no blank after 'key:'"),
        (b"a: b\nc http://d: e: f\n", "p.yaml:2:14: TFC102: not YAML: mapping values are not"),
        (b"flags: [1, 2\n", "p.yaml:1:8: TFC102: not YAML: while parsing a flow sequence"),
        (b"a: b\nflags: {t: a #b}\n", "p.yaml:2:8: TFC102: not YAML: while parsing a flow mapping"),
        (b"a: b\nworkers\xef\xbc\x9a4\n", "p.yaml:2:1: TFC102: not YAML: while scanning a simple"),
        (b"name: a\nx: \xff\n", "p.yaml:2:4: TFC101: byte 0xff is not UTF-8 text"),
        (b"name: a\x00b\n", "p.yaml:1:8: TFC101: control character U+0000"),
        (b"\x89PNG\r\n", "p.yaml:1:1: TFC101:"),
        (b"a: 1\n---\nb: 2\n", "p.yaml:2:1: TFC108: a second YAML document"),
        (b"a: " + b"[" * 20_000, "p.yaml:1:43: TFC108: nested more than 40 levels deep"),
        (b"a: !!python/object:os.system x\n", "p.yaml:1:4: TFC108: the tag"),
        (b"!!set {a, b}\n", "p.yaml:1:1: TFC108: the tag !!set"),
        (b"flags: &a {b: *a}\n", "p.yaml:1:8: TFC108: an alias that contains itself"),
        (
            b"".join(b"%%TAG !a%d! tag:x,2000:\n" % number for number in range(38_000)) + b"--- {}",
            "p.yaml:17:1: TFC108: more than 16 %TAG directives",
        ),
    ],
)
def test_what_is_no_params_file_is_told_with_its_place(raw: bytes, finding: str) -> None:
    assert any(line.startswith(finding) for line in found(raw)), found(raw)


def test_a_tab_is_named_as_what_is_wrong() -> None:
    (line,) = found("name: a\ntrain:\n\tsteps: 1\n")

    assert "(indent with spaces, not with tabs)" in line


def test_a_mistake_that_an_alias_repeats_is_said_once_where_it_is_written() -> None:
    limits = "{limits: {memory: 4Gb}}"
    wrong = f"resources: {{worker: &r {limits}, ps: *r, chief: {limits}}}"
    worker, chief = found(GOOD + wrong)
    assert worker.startswith("p.yaml:4:42: TFC206: resources.worker.limits.memory is ")
    assert "resources.chief.limits.memory is " in chief


def test_different_mistakes_by_one_alias_are_all_said() -> None:
    strategy, update = found(GOOD + "strategy: &x synchronous\nupdate: *x\n")
    assert "strategy is " in strategy
    assert "did you mean 'sync'?" in update
    mounts = "extraVolumeMounts: &m [{readOnly: true}]}, ps: {extraVolumeMounts: *m"
    told = found(f"{GOOD}extraValues: {{worker: {{{mounts}}}}}\n")
    assert [one.split("'")[1] for one in told] == ["mountPath", "name"]


def test_aliases_that_grow_without_end_are_cut_off() -> None:
    levels = ["l0: &l0 [a, a, a, a, a, a, a, a, a, a]"]
    for n in range(1, 9):
        levels.append(f"l{n}: &l{n} [" + ", ".join([f"*l{n - 1}"] * 10) + "]")
    raw = ("flags: {a: 1}\n" + "\n".join(levels)).encode()

    findings = check("p", raw).findings

    assert any("more than 50000 values" in f.message for f in findings)


def test_a_key_with_a_slash_has_an_escaped_pointer() -> None:
    assert json_pointer(("a/b", "c~d", 0)) == "/a~1b/c~0d/0"


SCRIPT = "name: a\nimage: r/i:1\nprogram:\n  script: /data/code/train.py\n"


def test_a_script_with_what_it_is_told_has_no_finding() -> None:
    args = "--ps=$(PS_HOSTS) $(WORKER_HOSTS) $(JOB_NAME) $(TASK_INDEX) $(DATA_DIR) $(LOG_DIR)"
    assert found(f"{SCRIPT}  args: ['{args}', '$$(MINE) $5 $']\n  ps: script\n") == []


@pytest.mark.parametrize(
    ("extra", "finding"),
    [
        (
            "  module: a:B",
            "4:3: TFC207: program.script does not go with program.module (keep one of them) "
            "[/program/script]",
        ),
        (
            "  args: [--ok, '--x=$(PS_HOST)']",
            "5:16: TFC322: $(PS_HOST) in program.args[1] is not known (did you mean $(PS_HOSTS)?; "
            "$$(PS_HOST) is the text itself) [/program/args/1]",
        ),
        (
            "train: {steps: 5}",
            "5:8: TFC323: train is set, but a script has settings of its own (leave out train, and "
            "tell the script by program.args) [/train]",
        ),
        (
            "evaluator: true",
            "5:12: TFC323: evaluator: a script has no evaluate to measure its checkpoints with "
            "(leave out evaluator) [/evaluator]",
        ),
        (
            "extraValues: {flags: {a: 1}}",
            "5:22: TFC323: extraValues.flags is set, but a script has settings of its own (leave "
            "out extraValues.flags, and tell the script by program.args) [/extraValues/flags]",
        ),
        (
            "  ps: script\nstrategy: all-reduce",
            "5:7: TFC318: program.ps is script, but strategy all-reduce has no parameter servers "
            "(leave out program.ps) [/program/ps]",
        ),
        (
            "  args: [1]",
            "5:10: TFC203: program.args[0] is 1, a number; a text is needed (write it in quotes: "
            "'1') [/program/args/0]",
        ),
    ],
)
def test_a_wrong_thing_about_a_script_is_told(extra: str, finding: str) -> None:
    assert found(SCRIPT + extra) == ["p.yaml:" + finding]


def test_what_is_a_scripts_does_not_go_with_a_module() -> None:
    assert found("name: a\nimage: r/i:1\nprogram: {module: 'a:B', args: [x]}\n") == [
        "p.yaml:3:26: TFC207: program.args does not go with program.module (keep one of them) "
        "[/program/args]"
    ]


def test_a_relative_script_is_for_this_machine_only() -> None:
    text = "name: a\nimage: r/i:1\nprogram: {script: train.py}\n"
    assert found(text) == [
        "p.yaml:3:19: TFC309: program.script is 'train.py'; in a container it has to be absolute "
        "(add source: {files: [train.py]}, or put it on the data volume, as /data/train.py) "
        "[/program/script]"
    ]
    assert check("p.yaml", text.encode(), for_cluster=False).findings == ()


@pytest.mark.parametrize(
    ("script", "fix"),
    [
        ("./train.py", "add source: {files: [train.py]}, or put it on the data volume, as /data/"),
        ("nets/../train.py", "add source: {files: [train.py]}"),
        ("../train.py", "write its path in the image, or on the data volume"),
        ("~/train.py", "write its path in the image, or on the data volume"),
        (
            "python /opt/train.py",
            "name the script alone; what comes behind it goes to program.args",
        ),
        ("s3://b/train.py", "name a path in the image or on the data volume"),
    ],
)
def test_the_way_out_for_a_relative_script_is_one_that_is_accepted(script: str, fix: str) -> None:
    (line,) = found(f"name: a\nimage: r/i:1\nprogram: {{script: '{script}'}}\n")

    assert f"TFC309: program.script is '{script}'" in line
    assert f"({fix}" in line


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        ("ps: 0", "ps is 0; at least 1 is needed (leave ps out; a training without them is"),
        (
            "train: {steps:3}",
            "unknown key 'steps:3' in train (write a blank after the colon: steps",
        ),
        ("train: {steps: 1,5}", "unknown key '5' in train (a comma ends a value: write the number"),
        ("priority: 5", "priority is 5, a number; a text is needed (it is the name of a Priority"),
        ("notebook: {enabled: true}", "unknown key 'enabled' in notebook (write true or false in"),
        ("log: {enabled: false}", "unknown key 'enabled' in log (known here: claim, size, class"),
        ("workerCPU: 2", "unknown key 'workerCPU' (resources says it, as in resources: {worker"),
        ("epochs: 2", "unknown key 'epochs' (train.steps says how long: epochs × examples / batch"),
        ("tfReplicaSpecs: {}", "unknown key 'tfReplicaSpecs' (a TFJob has it, and `tf-cluster con"),
        ("extraValues: {program: {script: 'a.py --n 3'}}", "(name the script alone; what comes"),
        ("kind: TFJob2", "unknown key 'kind' (it is of a Kubernetes object, and a params file is"),
        (
            "imagePullSecrets: 'a b'",
            'imagePullSecrets is "a b", a text; a list is needed (write it',
        ),
        (
            "resources: {worker: {requests: {cpu: 500M}}}",
            "is 500M: so many whole CPUs for one task (write 500m for thousandths of a CPU)",
        ),
    ],
)
def test_a_mistake_that_people_make_is_told_with_the_way_out(extra: str, words: str) -> None:
    (line,) = found(GOOD + extra)

    assert words in line


def test_a_name_that_begins_as_the_one_that_stands_for_a_directory_is_a_name() -> None:
    text = GOOD.replace("module: 'p.m:C'", "script: /CHANGE-MENT/train.py")

    assert found(text) == []
    assert "TFC352: program.script is /CHANGE-ME/a.py" in "".join(
        found(text.replace("/CHANGE-MENT/train.py", "/CHANGE-ME/a.py"))
    )


def test_a_momentum_out_of_range_is_one_finding() -> None:
    text = GOOD + "train: {optimizer: {name: Momentum, momentum: 2}}"

    assert [f.code for f in check("p.yaml", text.encode()).findings] == ["TFC205"]


def test_a_relative_path_in_extra_values_is_told_there() -> None:
    text = "name: a\nimage: i\nprogram: {module: 'p:C'}\nextraValues: {program: {path: code}}\n"

    (finding,) = check("p.yaml", text.encode()).findings

    assert finding.code == "TFC309"
    assert json_pointer(finding.pointer) == "/extraValues/program/path"
