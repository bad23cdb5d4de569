"""Programs that several suites train."""

from __future__ import annotations

from pathlib import Path
from typing import Any

# The digits from data that comes slowly, and what params call it where the file is at hand.
PACED = Path(__file__).with_name("paced.py")
PACED_MODULE = "paced:Paced"
# The same as arguments of the cluster suite's `make_values`.
PACED_INLINED: dict[str, Any] = {
    "beside": (PACED,),
    "program": {"source": {"files": [PACED.name]}, "module": PACED_MODULE},
}
# For a training that only has to go on: some six steps a second of each worker, and a fifth of a
# core for all tasks. Without a pause it takes all.
SLOWLY = {**PACED_INLINED, "flags": {"microseconds": 5000}}
# Steps that no test lives to see the end of.
ENDLESS = 10_000_000

# A recommender of two large tables.
RECOMMENDER = Path(__file__).with_name("recommender.py")
RECOMMENDER_MODULE = "recommender:Towers"
RECOMMENDER_INLINED = {"source": {"files": [RECOMMENDER.name]}, "module": RECOMMENDER_MODULE}
