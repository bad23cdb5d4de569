"""A user's script without TensorFlow: it does what the test's directory says.

    python stand_in_script.py <directory> [<argument> …]

It leaves <directory>/<task>.<n>.started (its pid) for its n-th start and <task>.told (what it was
told). Like one that blocks in `server.join()` it runs until it is ended, or until <task>.do says
`exit <code>`. `deaf` has it ignore SIGTERM, `careful` end with 0 on SIGTERM, as scripts do that
save then. It imports nothing of ours.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path

directory = Path(sys.argv[1])
task = f"{os.environ['JOB_NAME']}-{os.environ['TASK_INDEX']}"


def write(name: str, text: str) -> None:
    temporary = directory / f"{name}.tmp"
    temporary.write_text(text)
    temporary.rename(directory / name)


told = {"args": sys.argv[2:], "environment": dict(os.environ), "directory": str(Path.cwd())}
write(f"{task}.told", json.dumps(told))
number = len(list(directory.glob(f"{task}.*.started"))) + 1
write(f"{task}.{number}.started", str(os.getpid()))
while True:
    order = directory / f"{task}.do"
    words = order.read_text().split() if order.exists() else []
    if words:
        order.unlink()
    if words[:1] == ["exit"]:
        sys.exit(int(words[1]))
    if words == ["deaf"]:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if words == ["careful"]:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    time.sleep(0.02)
