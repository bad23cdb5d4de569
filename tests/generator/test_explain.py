"""`explain` says of each key and code what the schemas and the checks say; `schema` prints them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest
from tf_cluster.checks import CODES
from tf_cluster.exits import RefusedError
from tf_cluster.explain.explain import codes_of, explained, known
from tf_cluster.explain.keys import find_key, keys_of_params, root
from tf_cluster.params.schema_files import params_schema, values_schema

from tests.generator.conftest import Command

KEYS = [key.name for key in keys_of_params(root())]


@pytest.mark.parametrize("name", KEYS)
def test_every_key_has_a_description_and_a_kind(name: str) -> None:
    """When it has none: write it into params.schema.json."""
    key = find_key(name)
    text = explained(name)

    assert re.fullmatch(r"[A-Za-z0-9\"].*\.", key.description, re.DOTALL), key.description
    assert " ".join(key.description.split())[:40] in " ".join(text.split())
    assert re.search(r"(?m)^is +\S", text), text
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize("code", CODES)
def test_a_code_is_explained_with_both_files(code: str) -> None:
    (one,) = (known for known in CODES if known == code)
    text = explained(code.lower())

    assert text.startswith(f"{code}: {one.about}\n")
    assert one.right.split("\n")[0] in text
    assert "\x1b" not in text


def test_a_key_is_told_with_its_choices_default_value_and_codes() -> None:
    assert explained("resources.worker.limits.memory").splitlines() == [
        "resources.worker.limits.memory",
        "",
        "Memory, as in 4Gi.",
        "",
        "is       a text or a number, at least 0: a Kubernetes quantity, as in 500m, 2,",
        "         512Mi or 4Gi",
        'default  "4Gi"',
        'medium   "8Gi"',
        'large    "16Gi"',
        "becomes  worker.resources.limits.memory",
        "codes    TFC305 a resource request is over its limit",
        "         TFC366 an amount of memory or disk without its unit",
    ]


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ("/data/accessModes/0", "data.accessModes"),
        ("data.accessModes[0]", "data.accessModes"),
        ("extraValues.worker.extraEnv", "extraValues.worker.extraEnv"),
        ("flags.units", "flags.units"),
    ],
)
def test_a_key_is_found_as_findings_name_it(asked: str, name: str) -> None:
    assert find_key(asked).name == name
    assert find_key(asked).description


@pytest.mark.parametrize(
    ("asked", "advice"),
    [
        ("train.optimiser", "did you mean train.optimizer?"),
        ("trian.steps", "did you mean train?"),
        ("learningRate", "did you mean train.optimizer.learningRate?"),
        ("warmupSteps", "did you mean train.optimizer.schedule.warmupSteps?"),
        ("monitoring.rules", "extraValues.monitoring.rules"),
        ("epochs", "train.steps says how long"),
        ("zzzzzz", "`tf-cluster explain` lists the keys"),
        ("train.steps.more", "`tf-cluster explain` lists the keys"),
        ("..", "`tf-cluster explain` lists the keys"),
        ("\x1b[31m", "`tf-cluster explain` lists the keys"),
        ("TFC999", "docs/codes.md and docs/doctor.md list all"),
    ],
)
def test_what_is_unknown_gets_advice(asked: str, advice: str) -> None:
    with pytest.raises(RefusedError, match=re.escape(advice)) as refused:
        explained(asked)

    assert "\x1b" not in str(refused.value)


def test_codes_about_keys_are_those_whose_files_have_them() -> None:
    assert {"TFC304", "TFC313"} <= {*codes_of(find_key("train.optimizer.momentum"))}
    assert codes_of(find_key("train.reportSeconds")) == []


def test_a_shell_completes_keys_and_codes(tf_cluster: Command) -> None:
    line = {"COMP_WORDS": "tf-cluster explain train.opt", "COMP_CWORD": "2"}
    ran = tf_cluster(_TF_CLUSTER_COMPLETE="complete_bash", **line)

    assert ran.stdout.splitlines() == [one for one in known() if one.startswith("train.opt")]
    assert "TFC305" in known()


def test_a_wrong_key_ends_the_command_with_2(tf_cluster: Command) -> None:
    ran = tf_cluster("explain", "wrokers")

    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr == "tf-cluster: there is no key 'wrokers' (did you mean workers?)\n"


@pytest.mark.parametrize("which", ["params", "values"])
def test_the_schema_is_printed_as_it_is_used(tf_cluster: Command, which: str) -> None:
    ran = tf_cluster("schema", which)

    printed = json.loads(ran.stdout)
    assert printed == (params_schema() if which == "params" else values_schema())
    jsonschema.Draft7Validator.check_schema(printed)


def test_init_names_the_schema_that_is_beside_the_file(tf_cluster: Command, tmp_path: Path) -> None:
    before = tf_cluster("init", "-").stdout
    (tmp_path / "params.schema.json").write_text("{}")
    after = tf_cluster("init", "-").stdout

    assert before.startswith(
        "# For completion in an editor: tf-cluster schema > params.schema.json"
    )
    assert "yaml-language-server" not in before
    assert after.startswith("# yaml-language-server: $schema=params.schema.json\n")
