"""Whatever happens to a params file, the answer is findings or values the chart takes."""

from __future__ import annotations

import random

from tf_cluster.check import check
from tf_cluster.expand.expand import preset_name
from tf_cluster.expand.values_file import values_text
from tf_cluster.findings.formats import Format, report

from tests.generator.conftest import ROOT

_PIECES = [
    *(
        b"null",
        b"[]",
        b"{}",
        b"true",
        b"1e400",
        b"-1",
        b"'x'",
        b"yes",
        b"~",
        b"\xff",
        b"\t",
        b"\x00",
    ),
    *(b"extraValues", b"worker", b"resources", b": ", b"\n", b"  ", b"- ", b"&a ", b"*a", b"!!x "),
    *(b"99999999999999999999", b"0.5", b"|\n", b"'", b'"', b"{", b"}", b"[", b"]", b",", b"#"),
    b"\nextraValues: {run: {id: 3}, train: {steps: x, checkpoint: 4}}",
    b"\nextraValues: {image: {repository: q}, worker: 3, ps: null, fullnameOverride: [1]}",
    b"\nextraValues: {train: {optimizer: {momentum: a}}, ps: {resources: {requests: [1]}}}",
]


def _damaged(text: bytes, chance: random.Random) -> bytes:
    for _ in range(chance.randint(1, 4)):
        place = chance.randrange(len(text) + 1)
        if chance.random() < 0.3:
            text = text[:place] + text[place + chance.randint(1, 20) :]
        else:
            text = text[:place] + chance.choice(_PIECES) + text[place:]
    return text


def test_a_damaged_file_is_told_and_never_a_traceback() -> None:
    chance = random.Random(20260902)
    files = sorted((ROOT / "values-examples").glob("*.params.yaml"))
    texts = [file.read_bytes() for file in files]

    for _ in range(600):
        damaged = _damaged(chance.choice(texts), chance)
        checked = check("p.yaml", damaged)  # raises when it makes what the chart refuses
        if checked.good:
            assert values_text(checked.values, "p", preset_name(checked.document.data))
        else:
            assert report(checked.findings, Format.TEXT).startswith("p.yaml:"), damaged
