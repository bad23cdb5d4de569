"""A process without TensorFlow's Python: it loads exports with a library, and asks each.

`python -m tests.serving.loader.answer LIBRARY` reads the path of a version on each line, and says
on one line how far its answer is from the recorded one, and from what the warm-up's requests were
answered.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tf_cluster_trainer.run_directory import export_record
from tf_cluster_trainer.serving.compare import difference
from tf_cluster_trainer.serving.session import Session


def answered(version: Path, library: Path) -> dict[str, object]:
    """What a version says to its recorded request."""
    record = export_record.read(version)
    session = Session(version, library)
    assert record and record.request and record.answer, f"{version} records no request"
    signature = session.meta_graph.signatures[record.signature]
    got = session.run(signature, record.request)
    return {
        "tensorflow": session.tensorflow,
        "written": session.meta_graph.tensorflow,
        "difference": difference(record.answer, got),
        "rows": sorted({one.shape[0] for one in got.values()}),
        "signatures": sorted(session.meta_graph.signatures),
        "python": "tensorflow" in sys.modules,
    }


if __name__ == "__main__":
    for line in map(str.strip, sys.stdin):
        print(json.dumps(answered(Path(line), Path(sys.argv[1]))), flush=True)
