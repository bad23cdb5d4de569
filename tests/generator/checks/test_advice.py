"""Advice: what it is given on, how a file ignores it, and what it never does: fail."""

from __future__ import annotations

import json
from time import process_time

import pytest
from tf_cluster.check import check
from tf_cluster.checks import ADVICE_CODES, CODES
from tf_cluster.fixes import fixed
from tf_cluster.params.ignores import ignores
from tf_cluster.params.values import Flag
from tf_cluster.pointer import json_pointer

from tests.generator.conftest import ROOT, Command
from tests.generator.seconds import is_too_long

GOOD = "name: a\nimage: r/i:1\nprogram: {module: 'p.m:C'}\n"
SYNC = f"{GOOD}update: sync\nnodes: {{worker: "
URL = (
    "name: a\nimage: r/i:1\nprogram: {module: 'p.m:C', source: {url: '%s', sha256: '"
    + "0" * 64
    + "'}}\n"
)
SCRIPT = "name: a\nimage: r/i:1\nprogram: {script: /data/a.py, args: "
ALL_REDUCE = f"{GOOD}strategy: all-reduce\n"
RWO = "accessModes: [ReadWriteOnce]"
COLOCATE = "extraValues: {storage: {colocate: true}}"
SCHEDULE = f"{GOOD}train: {{steps: 100, optimizer: {{schedule: {{name: cosine, %s}}}}}}"
DECAY = "/train/optimizer/schedule/decaySteps"

APART = (
    "/extraValues/worker/affinity/podAntiAffinity/requiredDuringSchedulingIgnoredDuringExecution"
)


def apart(selector: str, more: str = "") -> str:
    """A file whose workers keep from the nodes of the pods that the selector chooses."""
    return (
        f"{GOOD}extraValues: {{worker: {{{more}affinity: {{podAntiAffinity: "
        "{requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, "
        f"labelSelector: {selector}}}]}}}}}}}}"
    )


def told(text: str) -> list[str]:
    """`CODE pointer` of each finding, and its severity where it is no advice."""
    return [
        f"{f.code} {json_pointer(f.pointer)}" + ("" if f.severity == "advice" else f" {f.severity}")
        for f in check("p.yaml", text.encode()).findings
    ]


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        (
            f"{GOOD}resources: {{ps: {{requests: {{cpu: 500}}}}}}",
            "TFC401 /resources/ps/requests/cpu",
        ),
        (
            f"{GOOD}resources: {{ps: {{limits: {{memory: 8000000000000m}}}}}}",
            "TFC401 /resources/ps/limits/memory",
        ),
        (f"{SCRIPT}['--log=$LOG_DIR/a']}}", "TFC413 /program/args/0"),
        (f"{SCRIPT}[--log, '${{DATA_DIR}}']}}", "TFC413 /program/args/1"),
        (f"{GOOD}workers: 200", "TFC402 /workers"),
        (f"{GOOD}preset: large\nworkers: 200\nlog: {{{RWO}}}", "TFC402 /workers"),
        (f"{GOOD}preset: medium\nworkers: 33\n{COLOCATE}", "TFC402 /workers"),
        (f"{GOOD}preset: large\ndata: {{{RWO}}}", "TFC403 /data/accessModes"),
        (f"{GOOD}preset: large\ndata: {{{RWO}}}\nlog: {{{RWO}}}", "TFC403 /data/accessModes"),
        (
            f"{ALL_REDUCE}preset: medium\nextraValues: {{storage: {{log: {{{RWO}}}}}}}",
            "TFC403 /extraValues/storage/log/accessModes",
        ),
        (
            f"{GOOD}nodes: {{worker: {{selector: {{pool: a}}}}, chief: {{selector: {{pool: b}}}}}}",
            "TFC403 /nodes/worker/selector/pool",
        ),
        (f"{ALL_REDUCE}workers: 8\ngpus: 4", "TFC403 /gpus"),
        (
            f"{GOOD}extraValues: {{worker: {{topologySpreadConstraints: [{{maxSkew: 1, "
            "topologyKey: "
            "kubernetes.io/hostname, whenUnsatisfiable: DoNotSchedule}]}}",
            "TFC403 /extraValues/worker/topologySpreadConstraints/0",
        ),
        (
            apart("{matchLabels: {app.kubernetes.io/component: worker}}"),
            f"TFC403 {APART}/0",
        ),
        (
            apart("{matchExpressions: [{key: app, operator: NotIn, values: [redis]}]}"),
            f"TFC403 {APART}/0",
        ),
        (
            apart("{matchLabels: {app: mine}}", "podLabels: {app: mine}, "),
            f"TFC403 {APART}/0",
        ),
        (GOOD.replace("r/i", "registry.example.com/i"), "TFC404 /image"),
        (GOOD.replace("r/i", "example.org:5000/i"), "TFC404 /image"),
        (GOOD.replace("r/i", "test:5000/i"), "TFC404 /image"),
        (f"{GOOD}extraValues: {{image: {{registry: test}}}}", "TFC404 /image"),
        (GOOD.replace("r/i", "docker.io/your-name/i"), "TFC404 /image"),
        (GOOD.replace("r/i", "docker.io/changeme/i"), "TFC404 /image"),
        (f"{GOOD}train: {{checkpoint: {{seconds: 3601}}}}", "TFC405 /train/checkpoint/seconds"),
        (
            SYNC + "{selector: {cloud.google.com/gke-spot: 'true'}}}",
            "TFC406 /nodes/worker/selector/cloud.google.com~1gke-spot",
        ),
        (
            SYNC + "{selector: {eks.amazonaws.com/capacityType: SPOT}}}",
            "TFC406 /nodes/worker/selector/eks.amazonaws.com~1capacityType",
        ),
        (
            SYNC + "{tolerations: [{key: a}, {key: azure.com/scalesetpriority, value: spot}]}}",
            "TFC406 /nodes/worker/tolerations/1",
        ),
        (
            SYNC.replace("worker: ", "selector: {node-lifecycle: ec2spot}}"),
            "TFC406 /nodes/selector/node-lifecycle",
        ),
        (URL % "https://e.com/c.zip?token=abc", "TFC408 /program/source/url"),
        (URL % "https://e.com/c.zip?a=b&X-Amz-Signature=abc", "TFC408 /program/source/url"),
        (
            f"{GOOD}extraValues: {{security: {{networkPolicy: {{enabled: false}}}}}}",
            "TFC409 /extraValues/security/networkPolicy/enabled",
        ),
        (
            f"{GOOD}train: {{optimizer: {{learningRate: 1e-46}}}}",
            "TFC410 /train/optimizer/learningRate",
        ),
        (
            f"{GOOD}train: {{optimizer: {{learningRate: 4e38}}}}",
            "TFC410 /train/optimizer/learningRate",
        ),
        (f"{GOOD}train: {{checkpoint: {{seconds: 1e-9}}}}", "TFC411 /train/checkpoint/seconds"),
        (
            f"{GOOD}train: {{checkpoint: {{seconds: 0.9, steps: 5}}}}",
            "TFC411 /train/checkpoint/seconds",
        ),
        (SCHEDULE % "warmupSteps: 10, decaySteps: 91", f"TFC412 {DECAY}"),
        (SCHEDULE % "decaySteps: 101", f"TFC412 {DECAY}"),
    ],
)
def test_advice_is_given_at_its_place_and_is_no_error(text: str, advice: str) -> None:
    checked = check("p.yaml", text.encode())

    assert told(text) == [advice]
    assert checked.good
    assert checked.findings[0].fix


@pytest.mark.parametrize(
    "text",
    [
        f"{GOOD}resources: {{worker: {{requests: {{cpu: 128}}}}}}",
        f"{GOOD}workers: 32",
        f"{GOOD}workers: 200\npreset: medium",
        f"{GOOD}workers: 200\npreset: large\ndata: {{claim: mine}}\nlog: {{claim: ours}}",
        f"{GOOD}workers: 32\ndata: {{{RWO}}}\nlog: {{{RWO}}}",
        f"{GOOD}preset: large\ndata: {{{RWO}}}\n{COLOCATE}",
        f"{GOOD}preset: large\ndata: {{accessModes: [ReadWriteOnce, ReadWriteMany]}}",
        f"{ALL_REDUCE}preset: large\nworkers: 1\ndata: {{{RWO}}}",
        f"{GOOD}workers: 200\ndata: {{enabled: false}}\nlog: {{accessModes: [ReadWriteMany]}}",
        f"{GOOD}nodes: {{worker: {{selector: {{pool: a}}}}, ps: {{selector: {{pool: b}}}}}}",
        f"{GOOD}nodes: {{worker: {{selector: {{a: b}}}}, chief: {{selector: {{c: d}}}}}}",
        f"{ALL_REDUCE}preset: medium\nworkers: 8\ngpus: 4",
        f"{ALL_REDUCE}workers: 4\ngpus: 4",
        apart("{matchLabels: {app: redis}}"),
        apart("{matchLabels: {app.kubernetes.io/name: redis}}"),
        apart("{matchExpressions: [{key: app, operator: In, values: [redis]}]}"),
        apart("{matchLabels: {app: redis}}", "podLabels: {app: mine}, "),
        f"{GOOD}extraValues: {{worker: {{topologySpreadConstraints: [{{maxSkew: 2, topologyKey: "
        "kubernetes.io/hostname, whenUnsatisfiable: DoNotSchedule}]}}",
        GOOD.replace("r/i", "registry.example-team.com/i"),
        GOOD.replace("r/i", "yourkit/i"),
        GOOD.replace("r/i", "test/trainer"),
        GOOD.replace("r/i", "example/trainer"),
        GOOD.replace("r/i", "test"),
        f"{GOOD}train: {{checkpoint: {{seconds: 3600}}}}",
        f"{GOOD}train: {{checkpoint: {{seconds: 7200, steps: 10}}}}",
        SYNC + "{selector: {cloud.google.com/gke-spot: 'false'}}}",
        SYNC + "{selector: {karpenter.sh/capacity-type: on-demand}}}",
        SYNC + "{selector: {spotify.com/pool: a, team: spotless}}}",
        (SYNC + "{selector: {cloud.google.com/gke-spot: 'true'}}}").replace("sync", "async"),
        URL % "https://e.com/token=a/c.zip?version=3",
        f"{GOOD}train: {{optimizer: {{learningRate: 2e-38}}}}",
        f"{GOOD}train: {{checkpoint: {{seconds: 1}}}}",
        SCHEDULE % "warmupSteps: 10, decaySteps: 90",
        SCHEDULE % "warmupSteps: 99",
        SCRIPT + "['--log=$(LOG_DIR)', '--price=$5', '--name=$LOG_DIRECTORY', '--x=$HOME']}",
        SCRIPT + "['--a=$$LOG_DIR']}",
        SCRIPT + "[-c, 'echo $LOG_DIR']}",
    ],
)
def test_what_is_meant_gets_no_advice(text: str) -> None:
    assert told(text) == []


@pytest.mark.parametrize(
    ("text", "keeps", "fix"),
    [
        ("workers: 200", "the preset small", "preset: medium has claims that several nodes"),
        (f"workers: 200\nlog: {{{RWO}}}", "log.accessModes", "log.accessModes: [ReadWriteMany]"),
        (f"workers: 200\n{COLOCATE}", "extraValues.storage.colocate", "leave extraValues.stor"),
    ],
)
def test_what_keeps_many_workers_on_one_node_is_named(text: str, keeps: str, fix: str) -> None:
    (finding,) = check("p.yaml", f"{GOOD}{text}".encode()).findings

    assert finding.message == f"workers is 200, and {keeps} keeps all of them on one node"
    assert finding.fix.startswith(fix)


def test_a_decay_is_held_to_the_files_steps_and_not_to_those_of_a_flag() -> None:
    text = (SCHEDULE % "decaySteps: 100").encode()

    assert check("p.yaml", text, flags={Flag("--steps"): 5}, for_cluster=False).of_flags == ()
    assert check("p.yaml", text, flags={Flag("--steps"): 5}, for_cluster=False).findings == ()


@pytest.mark.parametrize("amount", ["1k", "1000", "1e3", "1000000m"])
def test_the_fix_of_many_cpus_is_a_quantity(amount: str) -> None:
    text = f"{GOOD}resources: {{ps: {{requests: {{cpu: {amount}}}}}}}"
    (finding,) = check("p.yaml", text.encode()).findings

    assert finding.fix == "write 1000m for thousandths of a CPU"


def test_an_address_is_not_repeated() -> None:
    (finding,) = check("p.yaml", (URL % "https://e.com/c?token=abc123").encode()).findings

    assert "abc123" not in finding.words
    assert finding.value is None


RARE = f"{GOOD}train:\n  checkpoint: {{seconds: 7200}}"
IGNORED = [
    f"{RARE}  # tf-cluster: ignore TFC405 every step takes a minute",
    f"{RARE} #tf-cluster: ignore TFC405: a minute each",
    f"{GOOD}train:\n  # tf-cluster: ignore TFC405 why\n  checkpoint: {{seconds: 7200}}",
    f"{GOOD}train:\n  # tf-cluster: ignore TFC405 why\n\n  # more\n  checkpoint: {{seconds: 7200}}",
    f"{GOOD}train:\n  checkpoint:\n    # tf-cluster: ignore TFC405 why\n    seconds:\n      7200\n",
    f"{GOOD}train:\n  checkpoint:\n    seconds: # tf-cluster: ignore TFC405 why\n      7200\n",
    f"{RARE}  # tf-cluster: ignore TFC405 why".replace("\n", "\r\n"),
    f"\ufeff{RARE}  # tf-cluster: ignore TFC405 why",
    f"{GOOD}# tf-cluster: ignore TFC405, TFC410 why\ntrain: {{checkpoint: {{seconds: 7200}}, "
    "optimizer: {learningRate: 1e-50}}",
    "# tf-cluster: ignore TFC404 why\nimage: example.com/i:1\nname: a\nprogram: {module: 'p:C'}\n",
]


@pytest.mark.parametrize("text", IGNORED, ids=range(len(IGNORED)))
def test_advice_that_is_ignored_with_a_reason_is_not_given(text: str) -> None:
    assert told(text) == []


@pytest.mark.parametrize(
    ("comment", "findings"),
    [
        ("ignore TFC405", ["TFC120  warning"]),
        ("ignore", ["TFC120  warning"]),
        ("ignore it please", ["TFC120  warning"]),
        ("ignroe TFC405 why", ["TFC120  warning"]),
        ("disable TFC405 why", ["TFC120  warning"]),
        ("ignore TFC305 why", ["TFC120  warning"]),
        ("ignore TFC999 why", ["TFC120  warning"]),
        ("ignore TFC410 why", ["TFC121  warning"]),
        ("ignore TFC305, TFC410 why", ["TFC120  warning", "TFC121  warning"]),
        ("ignore TFC305 TFC410 why", ["TFC120  warning", "TFC121  warning"]),
        ("see docs/params.md", []),
        ("the file of our team", []),
    ],
)
def test_a_comment_that_ignores_nothing_is_told(comment: str, findings: list[str]) -> None:
    advice = ["TFC405 /train/checkpoint/seconds"]

    assert sorted(told(f"{RARE}  # tf-cluster: {comment}")) == sorted(advice + findings)


@pytest.mark.parametrize(
    "flags",
    [
        'flags: {a: "# tf-cluster: ignore TFC405 x"}',
        "flags: {a: ' # tf-cluster: ignore TFC405 x'}",
        "flags:\n  a: |\n    # tf-cluster: ignore x\n  b: >-\n    b\n\n    # tf-cluster: ignore\n",
        "flags:\n  a: 'one\n    # tf-cluster: ignore TFC405 x'\n",
        "flags: {a: b#tf-cluster:ignore}",
    ],
)
def test_a_text_is_no_comment(flags: str) -> None:
    assert ignores(f"{GOOD}{flags}") == []
    assert told(f"{GOOD}{flags}") == []


def test_a_comment_after_a_block_is_one() -> None:
    comments = ("  # tf-cluster: ignore TFC405 x", "  # tf-cluster: ignore")
    text = f"{GOOD}flags:\n  a: |\n    text\n{comments[0]}\n  b: |{comments[1]}\n    c\n"

    assert [(one.place.line, one.line) for one in ignores(text)] == [(7, 8), (8, 8)]


def test_a_comment_is_not_called_idle_where_not_all_was_looked_at() -> None:
    text = f"{GOOD}workers: x  # tf-cluster: ignore TFC402 why\n"

    assert told(text) == ["TFC203 /workers error"]
    assert told(text.replace("x ", "3 ")) == ["TFC121  warning"]
    local = check("p.yaml", text.replace("x ", "3 ").encode(), for_cluster=False)
    assert local.findings == ()


def test_fixes_keep_the_comments_and_bring_nothing_new() -> None:
    text = f"{GOOD}wrokers: 3  # tf-cluster: ignore TFC402 why\nrun: {{id: 1.10}}\n"

    done = fixed("p.yaml", text.encode(), unsafe=True)

    assert done.raw.decode() == text.replace("wrokers", "workers").replace("1.10", "'1.10'")
    assert [f.code for f in done.left.findings] == ["TFC121"]


def test_every_format_calls_advice_what_its_readers_do(tf_cluster: Command) -> None:
    def printed(form: str) -> str:
        ran = tf_cluster("validate", "--format", form, "-", stdin=RARE)
        assert (ran.returncode, ran.stderr) == (0, "0 errors, 1 advice\n")
        return ran.stdout

    assert printed("text").startswith(
        "<stdin>:5:25: TFC405: advice: train.checkpoint.seconds is 7200"
    )
    assert printed("github").startswith("::notice file=stdin,line=5,")
    assert json.loads(printed("json"))["findings"][0]["severity"] == "advice"
    assert json.loads(printed("sarif"))["runs"][0]["results"][0]["level"] == "note"


def test_errors_warnings_and_advice_are_counted_apart(tf_cluster: Command) -> None:
    text = f"{RARE}\n  stepsPerCall: 5000\nworkers: 0\nevaluator: {{}}\n"

    ran = tf_cluster("validate", "-", stdin=text)

    assert (ran.returncode, ran.stderr) == (1, "1 error, 1 warning, 1 advice\n")


def test_advice_is_of_its_own_codes() -> None:
    assert all("TFC401" <= code <= "TFC413" for code in ADVICE_CODES)
    assert {code for code in CODES if code.startswith("TFC4")} == {*ADVICE_CODES}


def test_the_examples_have_no_advice_left() -> None:
    for file in sorted((ROOT / "values-examples").glob("*.params.yaml")):
        assert check(file.name, file.read_bytes(), folder=file.parent).findings == (), file.name


@pytest.mark.parametrize(
    "text",
    [
        GOOD + "# tf-cluster: ignore TFC405 x\n" * 30_000,
        f"{GOOD}workers: 3 # tf-cluster: ignore {','.join(f'TFC{i}' for i in range(100_000))} x\n",
        f"{GOOD}flags:\n"
        + "".join(f"  a{i}: 'x' # tf-cluster: ignore TFC405 x\n" for i in range(12_000)),
        f"{GOOD}workers: 3 # tf-cluster: ignore {'TFC405 , ' * 80_000}\n",
        f"{GOOD}workers: 3 #{' ' * 900_000}tf-cluster: ignore TFC405\n",
    ],
    ids=["lines", "codes", "texts", "commas", "blanks"],
)
def test_many_comments_take_no_longer_than_other_lines(text: str) -> None:
    started = process_time()

    check("p.yaml", text.encode())

    assert not is_too_long(process_time() - started)
