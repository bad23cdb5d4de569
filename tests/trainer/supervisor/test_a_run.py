"""A whole run with stand-in children, from start to final state."""

from __future__ import annotations

import json

from .conftest import MakeWorld


def test_a_run_ends_with_exit_code_0_everywhere_but_in_the_ps(make_world: MakeWorld) -> None:
    world = make_world(steps=20)
    chief, worker, ps = world.start_all()
    assert chief.ends() == 0
    assert worker.ends() == 0
    assert ps.process.poll() is None

    document = json.loads((world.run_dir / "progress.json").read_text())
    assert (document["status"], document["final"], document["exitCode"]) == ("done", True, 0)
    assert (document["step"], document["percent"]) == (20, 100.0)
    assert document["jobUids"] == {"chief": "cj", "worker": "wj"}
    assert document["metrics"] == {"accuracy": 0.97}
    assert json.loads((world.run_dir / "owner.json").read_text())["released"] is True
