"""The five combinations stand in three tables: the chart's, the generator's and the trainer's."""

from __future__ import annotations

import re
from dataclasses import asdict

import yaml
from tf_cluster.expand.roles import COMBINATIONS as OF_THE_GENERATOR
from tf_cluster_trainer.config import COMBINATIONS as OF_THE_TRAINER

from tests.chart.helm import CHART


def test_the_three_tables_say_the_same() -> None:
    text = (CHART / "templates/_combinations.tpl").read_text()
    table = re.search(r'define "tf-cluster.combinations" -}}\n(.*?){{- end', text, re.DOTALL)
    assert table
    chart = [
        {
            re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", key): cell
            for key, cell in row.items()
        }
        for row in yaml.safe_load(table[1])
    ]
    trainer = [asdict(row) for row in OF_THE_TRAINER]
    assert len(chart) == len(OF_THE_GENERATOR) == len(trainer) == 5
    for ours, theirs, whole in zip(chart, map(asdict, OF_THE_GENERATOR), trainer, strict=True):
        assert ours == {key: whole[key] for key in ours}
        assert theirs == {key: whole[key] for key in theirs}
    assert chart[0].keys() >= asdict(OF_THE_GENERATOR[0]).keys()
