"""The alerts as Prometheus takes them: promtool gives them series, and they fire or do not."""

from __future__ import annotations

import functools
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.chart.helm import render
from tests.cluster import turns
from tests.cluster.machine_tools import tool_path
from tests.slices import in_turn

# It needs no cluster, but a program that only the cluster suite builds.
pytestmark = [pytest.mark.cluster, in_turn(turns.MONITORING, of=turns.OF)]

STALLED, LOSSES, UNSAVED = (
    "TensorFlowTrainingStalled",
    "TensorFlowTrainingLosesTasks",
    "TensorFlowCheckpointOld",
)
MINUTES = 90
OURS = (
    'namespace="training",app_kubernetes_io_instance="digits",app_kubernetes_io_name="tf-cluster"'
)
OTHERS = {
    "of another release": OURS.replace('"digits"', '"other"'),
    "of another name in the release": OURS.replace('"tf-cluster"', '"other"'),
    "of another namespace": OURS.replace('"training"', '"other"'),
}
CHIEF = f'{OURS},pod="digits-chief"'

Series = dict[str, str]


@functools.cache
def groups() -> list[Any]:
    rules = {"enabled": True, "stalledSeconds": 900, "checkpointSeconds": 3600, "losses": 3}
    rendered = render({"monitoring": {"rules": rules}})
    return list(rendered.one("PrometheusRule", "monitoring")["spec"]["groups"])


def running(**changes: str) -> Series:
    """A healthy training: 60 steps a minute, a checkpoint every five minutes, no loss."""
    return {
        f"tf_cluster_step{{{CHIEF}}}": f"0+60x{MINUTES}",
        f"tf_cluster_checkpoint_step{{{CHIEF}}}": f"0+60x{MINUTES}",
        f"tf_cluster_final{{{CHIEF}}}": f"0x{MINUTES}",
        **{f"tf_cluster_{name}{{{CHIEF}}}": values for name, values in changes.items()},
    }


def firing(series: Series, tmp_path: Path, minute: int = 80) -> set[str]:
    """The alerts that fire at a minute, as promtool says."""
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump({"groups": groups()}))
    found = set()
    for alert in (STALLED, LOSSES, UNSAVED):
        expected = {"eval_time": f"{minute}m", "alertname": alert, "exp_alerts": []}
        case = {
            "interval": "1m",
            "input_series": [{"series": name, "values": text} for name, text in series.items()],
            "alert_rule_test": [expected],
        }
        test = {"rule_files": ["rules.yaml"], "evaluation_interval": "1m", "tests": [case]}
        (tmp_path / "test.yaml").write_text(yaml.safe_dump(test))
        done = subprocess.run(
            (tool_path("promtool"), "test", "rules", str(tmp_path / "test.yaml")),
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            assert f'alertname="{alert}"' in done.stdout + done.stderr, done.stdout + done.stderr
            found.add(alert)
    return found


def test_promtool_takes_the_rules(tmp_path: Path) -> None:
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump({"groups": groups()}))
    done = subprocess.run(
        (tool_path("promtool"), "check", "rules", str(tmp_path / "rules.yaml")),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 rules found" in done.stdout + done.stderr


def test_a_healthy_training_is_silent(tmp_path: Path) -> None:
    assert firing(running(), tmp_path) == set()


def test_a_training_without_a_step_is_stalled(tmp_path: Path) -> None:
    stands = {"step": f"0+60x30 1800x{MINUTES}", "checkpoint_step": f"0+60x30 1800x{MINUTES}"}
    assert firing(running(**stands), tmp_path, minute=40) == set()
    assert firing(running(**stands), tmp_path, minute=50) == {STALLED}


def test_one_that_has_ended_is_not_stalled(tmp_path: Path) -> None:
    ended = {
        "step": f"0+60x30 1800x{MINUTES}",
        "checkpoint_step": f"0+60x30 1800x{MINUTES}",
        "final": f"0x30 1x{MINUTES}",
    }
    assert firing(running(**ended), tmp_path, minute=50) == set()


def test_a_chief_that_was_replaced_and_goes_on_is_not_stalled(tmp_path: Path) -> None:
    series = running(step="0+60x30", checkpoint_step="0+60x30", final="0x30")
    later = f'{OURS},pod="digits-chief-later"'
    series[f"tf_cluster_step{{{later}}}"] = f"_x32 1800+60x{MINUTES}"
    series[f"tf_cluster_checkpoint_step{{{later}}}"] = f"_x32 1800+60x{MINUTES}"
    assert firing(series, tmp_path, minute=60) == set()


def test_first_losses_of_three_tasks_are_counted(tmp_path: Path) -> None:
    series = running()
    for index in range(3):
        name = f'tf_cluster_task_losses_total{{{CHIEF},task="worker-{index}"}}'
        series[name] = f"_x70 1x{MINUTES}"
    assert firing(series, tmp_path, minute=75) == {LOSSES}
    assert firing(series, tmp_path, minute=88) == set()


def test_steps_without_a_checkpoint_are_told(tmp_path: Path) -> None:
    stuck = running(checkpoint_step=f"600x{MINUTES}")
    assert firing(stuck, tmp_path, minute=75) == {UNSAVED}
    del stuck[f"tf_cluster_checkpoint_step{{{CHIEF}}}"]
    assert firing(stuck, tmp_path, minute=75) == {UNSAVED}


@pytest.mark.parametrize("who", OTHERS)
def test_another_training_is_no_concern(who: str, tmp_path: Path) -> None:
    stands = running(step="0x90")
    other = {name.replace(OURS, OTHERS[who]): text for name, text in stands.items()}
    assert firing({**running(), **other}, tmp_path) == set()
    busy = {name.replace(OURS, OTHERS[who]): text for name, text in running().items()}
    assert firing({**stands, **busy}, tmp_path) == {STALLED}
