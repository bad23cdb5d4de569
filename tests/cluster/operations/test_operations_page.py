"""The commands of docs/operations.md and docs/doctor.md, run on one training.

They are run as they are written, but for those in CHANGED, which has the reasons, and ELSEWHERE.
What stands for the reader's own (NS, HASH, CHIEF, POD) is put in. A verb that a sentence names is
not run.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import typer
import yaml
from tf_cluster.cli import app

from tests.cluster import turns
from tests.cluster.conftest import CHART, IMAGE, SMALL
from tests.cluster.kubernetes import WAIT_SECONDS, Namespace, Release
from tests.cluster.operations.conftest import TOOL
from tests.programs import ENDLESS, PACED, SLOWLY
from tests.slices import in_turn
from tests.support.pages import blocks, codes, typed
from tests.support.waiting import eventually

pytestmark = pytest.mark.cluster

PAGES = ("operations.md", "doctor.md")
# Of a training that goes on. What it prints has to have these words.
LOOKING = {
    "tf-cluster list": "running",
    "tf-cluster get digits": "worker-1",
    "tf-cluster doctor digits": "",
    "tf-cluster doctor digits --save digits.snapshot.json": "",
    "tf-cluster doctor --from digits.snapshot.json": "",
    "tf-cluster logs digits": "step ",
    "tf-cluster logs digits --web": "https://logs.example/",
    "tf-cluster events digits": "Scheduled",
    "tf-cluster top -A": "NODE",
    "tf-cluster quota": "no quota",
    "kubectl -n NS logs --selector app.kubernetes.io/instance=digits,"
    "app.kubernetes.io/component=chief": "step ",
    "kubectl -n NS logs --selector app.kubernetes.io/instance=digits,"
    "app.kubernetes.io/component=worker,batch.kubernetes.io/job-completion-index=0": "worker",
    "kubectl -n NS exec job/CHIEF -- cat /log/digits/1/progress.json": '"status": "running"',
    "kubectl -n NS logs --selector app.kubernetes.io/instance=digits,"
    "app.kubernetes.io/component=evaluator": "evaluator",
    "kubectl -n NS get jobs,deployments,pods,pvc --selector app.kubernetes.io/instance=digits": (
        "persistentvolumeclaim/digits-log"
    ),
    "kubectl -n NS describe pod POD": "Status:",
    "helm test digits": "Succeeded",
}
PREFLIGHT, SUBMIT = (f"tf-cluster {verb} digits.params.yaml" for verb in ("preflight", "submit"))
ROLLBACK = "helm -n NS rollback digits"
REMOVE_HALF_MADE = (
    "kubectl -n NS delete jobs,deployments,services,configmaps,serviceaccounts,roles,rolebindings,"
    "networkpolicies --selector 'app.kubernetes.io/instance=digits,tf-cluster.io/attempt,"
    "tf-cluster.io/attempt!=HASH'"
)
# The page's own name of the Job is put in for what it is here.
FAILED = "kubectl wait --for=condition=Failed --timeout=15m job/digits-chief-3f2a9c1b"
DESCRIBED = "kubectl describe job digits-chief-3f2a9c1b"
HOW_IT_ENDED = (
    "kubectl -n NS get pods --selector app.kubernetes.io/instance=digits,"
    "app.kubernetes.io/component=chief --output 'jsonpath={range .items[*]}"
    '{.status.containerStatuses[0].state.terminated.message}{"\\n"}{end}\''
)
WAIT = "tf-cluster wait digits --timeout 3600 && …"
TEST_OR_LOG = "helm test digits --timeout 3m || kubectl logs digits-test"
DELETE_TEST = "kubectl delete pod digits-test"
STOP, DELETE = "tf-cluster stop digits", "tf-cluster delete digits"
# None of these is a week old.
PRUNING = (
    "tf-cluster prune --older 7d --keep 5 --dry-run",
    "tf-cluster prune --older 7d --keep 5",
    "tf-cluster prune --older 7d -A --yes",
    "tf-cluster prune runs digits --keep 2 --dry-run",
    "tf-cluster prune runs digits --keep 2",
)
OF_CLAIMS = (
    "tf-cluster prune runs digits --claim digits-log --keep 1",
    "tf-cluster prune runs --claim team --older 90d",
)
DELETE_CLAIMS = "kubectl delete pvc digits-data digits-log"
RUN = {
    *LOOKING,
    *PRUNING,
    *OF_CLAIMS,
    *(PREFLIGHT, SUBMIT, ROLLBACK, REMOVE_HALF_MADE, FAILED, DESCRIBED, HOW_IT_ENDED),
    *(TEST_OR_LOG, DELETE_TEST, WAIT, STOP, DELETE, DELETE_CLAIMS),
}
ELSEWHERE = {
    "tf-cluster serve digits --install": "test_serving.py has it: it needs an export",
}
# What a sentence names: a verb of kubectl or helm, with a kind or an option, and one of ours.
NAMED = re.compile(
    r"helm( -n NS)? (install|list|rollback|test|uninstall|upgrade)( --[a-z-]+)?"
    r"|kubectl ((get|describe|delete) (jobs?|pods?|pvc)|logs|drain)"
)
OURS_NAMED = re.compile(r"tf-cluster ([a-z]+)( --program| FILE…?| NAME)?")
CHANGED = {
    # The cluster may be one on which others train.
    "tf-cluster prune --older 7d -A --yes": "tf-cluster prune --older 7d -A --yes --dry-run",
    WAIT: WAIT.replace("…", "echo went on"),
    # No training is left whose image they could take.
    **{words: f"{words} --image {IMAGE}" for words in OF_CLAIMS},
    OF_CLAIMS[1]: f"{OF_CLAIMS[1]} --image {IMAGE}".replace("team", "digits-log"),
}


@dataclass
class Shell:
    """A user's shell: the context's namespace is that of the training."""

    environment: dict[str, str]
    folder: Path
    own: dict[str, str]

    def __call__(self, words: str, *, code: int = 0) -> str:
        """All that the command printed. Raises AssertionError for another exit code."""
        line = CHANGED.get(words, words)
        for name, here in self.own.items():
            line = re.sub(rf"(?<![\w/]){name}\b|(?<=job/){name}\b", here, line)
        done = typed(line, self.folder, self.environment, WAIT_SECONDS)
        assert done.returncode == code, f"{line}\n{done.stdout}"
        return done.stdout


@pytest.fixture
def shell(namespace: Namespace, kube_config: str, tmp_path: Path) -> Shell:
    config = tmp_path / "kubeconfig"
    config.write_text(Path(kube_config).read_text())
    programs = {str(Path(path).parent) for path in (namespace.kubectl_path, namespace.helm_path)}
    environment = {
        **os.environ,
        "PATH": ":".join((str(TOOL.parent), *programs, os.environ["PATH"])),
        "KUBECONFIG": str(config),
        "TF_CLUSTER_LOGS_URL": "https://logs.example/{namespace}/{name}/{attempt}",
    }
    shell = Shell(environment, tmp_path, {"NS": namespace.name})
    shell(f"kubectl config set-context --current --namespace {namespace.name}")
    params = {
        "name": "digits",
        "preset": "small",
        "image": IMAGE,
        "workers": 2,
        "evaluator": True,
        **{key: value for key, value in SLOWLY.items() if key != "beside"},
        "resources": SMALL,
        "train": {"steps": ENDLESS},
    }
    (tmp_path / "digits.params.yaml").write_text(yaml.safe_dump(params))
    (tmp_path / PACED.name).write_text(PACED.read_text())
    return shell


@pytest.fixture
def release(namespace: Namespace) -> Iterator[Release]:
    yield Release(namespace, "digits", CHART)
    namespace.helm("uninstall", "digits", "--ignore-not-found")


@in_turn(turns.OPERATIONS_PAGE, of=turns.OF)
@pytest.mark.timeout(900)
def test_each_command_of_the_pages_does_what_it_is_there_for(
    shell: Shell, release: Release
) -> None:
    assert "fits" in shell(PREFLIGHT)
    shell(SUBMIT)
    goes_on(shell)
    shell.own |= own(release)
    eventually("the evaluator to run", lambda: release.running("evaluator"), 120)

    for words, printed in LOOKING.items():
        assert printed in shell(words), words

    upgrades(shell, release)
    deadline(shell, release)
    shell(f"helm upgrade digits {CHART} -f digits.values.yaml --set run.attempt=2")
    goes_on(shell)
    assert "stopped" in shell(STOP)
    assert "went on" not in shell(WAIT, code=1)

    for words in PRUNING:
        shell(words)
    assert "the claims stay" in shell(DELETE)
    for words in OF_CLAIMS:
        shell(words)
    assert "deleted" in shell(DELETE_CLAIMS)


def upgrades(shell: Shell, release: Release) -> None:
    """What takes a failed upgrade back: an attempt that it has half made, and nothing else."""
    shell("tf-cluster generate digits.params.yaml -o digits.values.yaml")
    before = uids(release)
    shell(f"helm upgrade digits {CHART} -f digits.values.yaml")
    shell(ROLLBACK)
    labels = {"app.kubernetes.io/instance": "digits", "tf-cluster.io/attempt": "half"}
    half_made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "half"}}
    half_made["metadata"]["labels"] = labels
    release.namespace.apply(half_made)
    assert 'configmap "half" deleted' in shell(REMOVE_HALF_MADE)
    assert uids(release) == before


def deadline(shell: Shell, release: Release) -> None:
    """A deadline that is over ends the training."""
    shell(f"helm upgrade digits {CHART} -f digits.values.yaml --set run.deadlineSeconds=1")
    shell(FAILED)
    assert "DeadlineExceeded" in shell(DESCRIBED)
    assert "look at the pods" in shell(TEST_OR_LOG)
    shell(DELETE_TEST)


def goes_on(shell: Shell) -> None:
    """It has steps."""
    eventually("steps", lambda: json.loads(shell("tf-cluster get digits -o json"))["step"], 120)


def own(release: Release) -> dict[str, str]:
    """What the reader has in the place of the page's names."""
    chief = release.one("job", "chief")
    name = chief["metadata"]["name"]
    return {
        "CHIEF": name,
        "POD": release.client()["metadata"]["name"],
        "HASH": chief["metadata"]["labels"]["tf-cluster.io/attempt"],
        "digits-chief-3f2a9c1b": name,
    }


def uids(release: Release) -> set[str]:
    return {str(one["metadata"]["uid"]) for one in release.objects("job,deployment,pod")}


def in_blocks(page: str) -> set[str]:
    """The commands in the page's blocks of code."""
    lines = [line for block in blocks(page) for line in block.splitlines()]
    return _commands(line.partition(" #")[0].strip().removeprefix("$ ") for line in lines)


def _commands(words: Iterable[str]) -> set[str]:
    return {one for one in words if re.match(r"(kubectl|helm|tf-cluster) \S", one)}


def is_named(words: str) -> bool:
    """Whether a sentence only names it."""
    ours = OURS_NAMED.fullmatch(words)
    verbs = {command.name for command in typer.main.get_group(app).commands.values()}
    return ours[1] in verbs if ours else NAMED.fullmatch(words) is not None


def test_each_command_of_the_pages_is_known_here() -> None:
    shown = {words for page in PAGES for words in in_blocks(page)}
    said = {words for page in PAGES for words in _commands(codes(page))}
    known = RUN | ELSEWHERE.keys()

    assert not shown - known
    assert not [words for words in said - known if not is_named(words)]
    assert known <= shown | said
