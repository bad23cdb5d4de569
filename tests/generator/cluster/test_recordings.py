"""The doctor's rules on snapshots of failures that tests/cluster/operations caused on a cluster."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from jsonschema import Draft7Validator
from tf_cluster.cluster.doctor.bundle import HIDDEN, bundle, hidden, read_bundle
from tf_cluster.cluster.doctor.examine import everything, examined
from tf_cluster.cluster.doctor.rules import RULES
from tf_cluster.cluster.doctor.text import findings_json, findings_text
from tf_cluster.cluster.snapshot import Snapshot, Training
from tf_cluster.cluster.state import Standing, state_of
from tf_cluster.cluster.text import get_json, list_json
from tf_cluster.params.schema_files import params_schema, printed_schema_text, values_schema
from tf_cluster.params.schema_violations import key_paths

from tools.doctor_page import NOT_SEEN

RECORDINGS = sorted(Path(__file__).with_name("recordings").glob("*.json"))


BESIDE = {
    "TFD114-gate": {"TFD107"},  # why the ps that is waited for has no node
    "TFD116-memory": {"TFD118"},  # its Job allows no failure
    "TFD118-limit": {"TFD116"},
    "TFD122-servers": {"TFD115"},  # how the training ended
    "TFD123-living": {"TFD107", "TFD126"},  # of an upgrade that failed half-way
    "TFD125-gang": {"TFD105"},  # the pod of the gang that found no place
    "TFD125-living": {"TFD126"},
    "TFD126-living": {"TFD107", "TFD123"},
}
"""What else is wrong in a recording."""


def only(snapshot: Snapshot) -> Training:
    """The one training or server of a recording."""
    (one,) = (*snapshot.trainings, *snapshot.servers)
    return one


def codes(snapshot: Snapshot) -> list[str]:
    return [finding.code for finding in examined(snapshot, only(snapshot))]


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_a_recording_of_a_failure_has_its_code_and_no_other(path: Path) -> None:
    found = set(codes(read_bundle(str(path))))
    assert found == {path.stem[:6], *BESIDE.get(path.stem, ())}


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_the_finding_names_its_object_evidence_and_what_mends_it(path: Path) -> None:
    snapshot = read_bundle(str(path))
    training = only(snapshot)
    found = [one for one in examined(snapshot, training) if one.code == path.stem[:6]]
    text = findings_text(training, found)
    for one in found[:3]:
        assert f"{one.about}: {one.words}" in text
        assert one.quote
        assert f"  mend: {one.mend}" in text


def test_every_rule_has_a_recording_or_a_reason() -> None:
    recorded = {path.stem[:6] for path in RECORDINGS}
    assert {rule.code for rule in RULES} == recorded | set(NOT_SEEN)
    assert not recorded & set(NOT_SEEN)


def mends() -> dict[str, str]:
    """All that is said of mending: of each rule, and of the findings of recordings."""
    found = {rule.code: rule.mend for rule in RULES}
    for path in RECORDINGS:
        snapshot = read_bundle(str(path))
        for one in examined(snapshot, only(snapshot)):
            found[f"{path.stem} {one.code}"] = one.mend
    return found


def test_a_key_that_mends_is_one_of_the_params_or_of_the_values() -> None:
    schemas = (params_schema(), values_schema())
    keys = {".".join(path) for schema in schemas for path in key_paths(schema)}
    tops = {key.partition(".")[0] for key in keys}
    named = {
        (code, key.replace("ROLE", "worker"))
        for code, words in mends().items()
        for key in re.findall(r"(?<![\w./-])[a-z]\w*(?:\.[A-Za-z]\w*)+", words)
        if key.partition(".")[0] in tops and not key.endswith(".md")
    }
    assert len({key for _, key in named}) >= 5
    assert not [one for one in named if one[1] not in keys]


def test_codes_are_used_once_and_in_order() -> None:
    found = [rule.code for rule in RULES]
    assert found == sorted(set(found))


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_a_snapshot_is_the_same_after_a_file(path: Path, tmp_path: Path) -> None:
    snapshot = read_bundle(str(path))
    again = tmp_path / "again.json"
    again.write_text(bundle(snapshot))
    assert read_bundle(str(again)) == snapshot


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_nothing_is_said_of_a_training_without_what_was_seen(path: Path) -> None:
    """Rules that speak of what is not there would speak here."""
    snapshot = read_bundle(str(path))
    bare = replace(only(snapshot), jobs=(), deployments=(), pods=(), claims=())
    alone = replace(snapshot, trainings=(bare,), servers=(), events=(), releases=())
    assert codes(alone) == []


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_what_the_verbs_print_as_json_has_its_schema(path: Path) -> None:
    snapshot = read_bundle(str(path))
    training = only(snapshot)
    standing = Standing(training, state_of(training))
    for name, document in (
        ("trainings", list_json([standing])),
        ("training", get_json(standing, examined(snapshot, training))),
        ("doctor", findings_json(snapshot, everything(snapshot))),
    ):
        schema = json.loads(printed_schema_text(name))
        Draft7Validator.check_schema(schema)
        Draft7Validator(schema).validate(json.loads(json.dumps(document)))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://me:pa55@git.example/x", f"https://{HIDDEN}@git.example/x"),
        ("Authorization: Bearer abcdefgh.ijk", f"Authorization: Bearer {HIDDEN}"),
        ("API_TOKEN=abc next", f"API_TOKEN={HIDDEN} next"),
        ('{"password": "hunter2", "a": 1}', f'{{"password": "{HIDDEN}", "a": 1}}'),
        ("aws_secret_access_key=AKIA/x+y", f"aws_secret_access_key={HIDDEN}"),
        (r'{"m": "{\"token\": \"abc\"}"}', rf'{{"m": "{{\"token\": \"{HIDDEN}\"}}"}}'),
        ("--token abc next", f"--token {HIDDEN} next"),
        ("password = 'two words'", f"password = '{HIDDEN}'"),
        ("Authorization: token ghp_x", f"Authorization: token {HIDDEN}"),
        ("https://s3/x?X-Amz-Signature=0a1b&y=1", f"https://s3/x?X-Amz-Signature={HIDDEN}&y=1"),
        ("https://blob/x?sv=1&sig=a%2Fb", f"https://blob/x?sv=1&sig={HIDDEN}"),
        ("passphrase: correct", f"passphrase: {HIDDEN}"),
        ("DB_PASS=abc pwd=def", f"DB_PASS={HIDDEN} pwd={HIDDEN}"),
        ("AWS_ACCESS_KEY_ID=AKIA1234", f"AWS_ACCESS_KEY_ID={HIDDEN}"),
        ("Cookie: session=abc", f"Cookie: {HIDDEN}"),
        ("got eyJhbGciOi.eyJzdWIiOi.c2ln here", f"got {HIDDEN} here"),
        ("cloned with ghp_0123456789abcdef", f"cloned with {HIDDEN}"),
        ("step 12 of 100, loss 0.5", "step 12 of 100, loss 0.5"),
        ("design: compass=3, 2 passes", "design: compass=3, 2 passes"),
    ],
)
def test_what_looks_like_a_secret_is_hidden(text: str, shown: str) -> None:
    assert hidden(text) == shown
