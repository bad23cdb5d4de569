"""A plan says what Helm renders: names, pods and TF_CONFIG, and the truth of an upgrade."""

from __future__ import annotations

import json
import re
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from hypothesis import assume, event, given, note, seed
from hypothesis import strategies as st
from tf_cluster.expand.merge import merged as laid_over
from tf_cluster.params.schema_files import chart_values
from tf_cluster.planning.against import compared
from tf_cluster.planning.plan import IN_TF_CONFIG, Plan, plan
from tf_cluster.planning.roles import POD_ROLES
from tf_cluster_trainer.script_start import tf_config

from tests.chart.features import FEATURES
from tests.chart.fuzz.files import DRAWS, LEAVES, PATHS, nested, values_files
from tests.chart.fuzz.schema import Draw
from tests.chart.helm import CHART, LEAST, LOADER, RefusedError, Rendered, merged, template
from tests.generator.conftest import ROOT
from tests.slices import sliced
from tests.support.drawing import draws

RELEASE, NAMESPACE = "digits", "training"
EXAMPLES = sorted((ROOT / "values-examples").glob("*.values.yaml"))
PARTS, PAIRS = 120, 3
LARGEST_EXACT = 2**53  # of the whole numbers that a float holds one by one
_EXPONENT = re.compile(r"[0-9.]+e[+]?[0-9]+")


@pytest.mark.parametrize("file", sliced(EXAMPLES, 3))
def test_of_an_example(file: Any) -> None:
    agree(yaml.load(file.read_text(), LOADER))


@pytest.mark.parametrize("name", sliced(sorted(FEATURES), 6))
def test_of_a_feature(name: str) -> None:
    agree(merged(LEAST, FEATURES[name]))


@pytest.mark.parametrize("part", sliced(range(PARTS), 1))
def test_of_drawn_values_and_an_upgrade_of_them(part: int) -> None:
    @seed(part)
    @draws(PAIRS, shrinks=False)
    @given(values_files(), changes())
    def hold(values: dict[str, Any], change: dict[str, Any]) -> None:
        note(json.dumps([values, change]))
        try:
            old, old_plan = agree(values)
            new, new_plan = agree(merged(values, change))
        except RefusedError as error:
            event(str(error)[:60])
            assume(False)
        comparison = compared(old_plan, new_plan)

        assert comparison.restarts == (old.attempt != new.attempt), change
        assert set(comparison.created) == _lasting(new) - _lasting(old)
        gone = {*comparison.removed, *(("PersistentVolumeClaim", one) for one in comparison.kept)}
        assert gone == _lasting(old) - _lasting(new)
        assert bool(comparison.causes) == comparison.restarts

    hold()


@st.composite
def changes(draw: Draw) -> dict[str, Any]:
    """A few values of an upgrade."""
    change: dict[str, Any] = {}
    for path in draw(st.lists(st.sampled_from(PATHS), min_size=1, max_size=3, unique=True)):
        change = merged(change, nested(path, DRAWS.value(draw, LEAVES[path])))
    return change


def agree(values: dict[str, Any]) -> tuple[Rendered, Plan]:
    """Render values, plan them and hold the two together. Raises RefusedError, as Helm does."""
    text = json.dumps(values, ensure_ascii=False)
    rendered = template.__wrapped__(text, RELEASE, NAMESPACE, str(CHART))
    planned = plan(laid_over(chart_values(), values), release=RELEASE, namespace=NAMESPACE)
    assert planned.names.attempt == rendered.attempt
    assert sorted(rendered.names) == sorted(
        (one.kind, name) for one in planned.objects for name in one.names
    )
    _same_pods(rendered, planned)
    _same_lives(rendered, planned)
    _same_tasks(rendered, planned)
    return rendered, planned


def _same_pods(rendered: Rendered, planned: Plan) -> None:
    attempt, names = planned.attempt, planned.names
    specs = {names.worker: attempt.worker_spec(names)["template"]}
    if names.chief:
        specs[names.chief] = attempt.chief_spec(names)["template"]
    for index in range(names.ps_count):
        specs[names.ps(index)] = attempt.ps_spec(names, index)["template"]
    if names.evaluator:
        specs[names.evaluator] = attempt.evaluator_spec(names)["template"]
    if names.cleanup_job:
        specs[names.cleanup_job] = attempt.cleanup_spec(names)["template"]
    for role in planned.release.pages:
        specs[f"{planned.release.fullname}-{role.name}"] = attempt.page_spec(role)
    assert _read(specs) == _read(rendered.pods)

    workers = rendered.one("Job", "worker")["spec"]
    assert workers["completions"] == planned.counts["worker"]
    assert len(rendered.all("Deployment", "ps")) == planned.counts.get("ps", 0)
    for group in planned.pods:
        pod = specs[group.owner.partition(" ")[2].replace("{}", "0")]
        mounts = {one["name"] for one in pod["spec"]["volumes"]}
        assert set(group.mounted) == mounts & {"data", "log"}
        assert set(POD_ROLES[group.role].ports) == {
            port["name"] for port in pod["spec"]["containers"][0].get("ports", [])
        }


def _read(data: Any) -> Any:
    """Data with numbers that Helm writes as 3e+16, or as the nearest whole number."""
    if isinstance(data, dict):
        return {key: _read(value) for key, value in data.items()}
    if isinstance(data, list):
        return [_read(one) for one in data]
    if isinstance(data, int) and abs(data) > LARGEST_EXACT:
        return float(data)
    # PyYAML takes an exponent for text.
    return float(data) if isinstance(data, str) and _EXPONENT.fullmatch(data) else data


def _same_lives(rendered: Rendered, planned: Plan) -> None:
    lives = {(one.kind, name): one.life for one in planned.objects for name in one.names}
    for one in rendered.objects:
        metadata = one["metadata"]
        annotations = metadata.get("annotations") or {}
        told = "attempt" if "tf-cluster.io/attempt" in metadata["labels"] else "release"
        if annotations.get("helm.sh/resource-policy") == "keep":
            told = "kept"
        if annotations.get("helm.sh/hook") == "test":
            told = "test"
        assert lives[one["kind"], metadata["name"]] == told, one["kind"]


def _same_tasks(rendered: Rendered, planned: Plan) -> None:
    assert {"cluster": dict(planned.cluster), "status": planned.status} == {
        key: rendered.config("cluster.json")[key] for key in ("cluster", "status")
    }
    for kind in IN_TF_CONFIG:
        for index in {0, planned.counts.get(kind, 0) - 1} if kind in planned.cluster else ():
            task: Any = SimpleNamespace(type=kind, index=index)
            config: Any = SimpleNamespace(cluster=rendered.cluster, task=task)
            assert planned.tf_config(f"{kind}-{index}") == tf_config(config)


def _lasting(rendered: Rendered) -> set[tuple[str, str]]:
    return {name for name in rendered.names if name[0] != "Pod"}
