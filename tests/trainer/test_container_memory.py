"""What a container may have: the least that any group of the process says."""

from __future__ import annotations

from pathlib import Path

import pytest
from tf_cluster_trainer import container_memory

GIB = 1 << 30


def machine(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return root


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        pytest.param({}, None, id="no groups"),
        pytest.param({"sys/fs/cgroup/memory.max": f"{GIB}\n"}, GIB, id="a pod's own view"),
        pytest.param({"sys/fs/cgroup/memory.max": "max\n"}, None, id="no limit"),
        pytest.param(
            {
                "proc/self/cgroup": "0::/kubepods/pod1/container\n",
                "sys/fs/cgroup/kubepods/memory.max": f"{8 * GIB}\n",
                "sys/fs/cgroup/kubepods/pod1/memory.max": f"{GIB}\n",
                "sys/fs/cgroup/kubepods/pod1/container/memory.max": "max\n",
            },
            GIB,
            id="the pod's limit is less than the container's",
        ),
        pytest.param(
            {
                "proc/self/cgroup": "3:cpu,cpuacct:/a\n2:memory:/a/b\n1:name=systemd:/a\n",
                "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
                "sys/fs/cgroup/memory/a/b/memory.limit_in_bytes": f"{GIB}\n",
            },
            GIB,
            id="cgroup 1",
        ),
        pytest.param(
            {
                "proc/self/cgroup": "2:memory:/seen/from/outside\n",
                "sys/fs/cgroup/memory/memory.limit_in_bytes": f"{GIB}\n",
            },
            GIB,
            id="cgroup 1 in a container",
        ),
    ],
)
def test_the_limit(files: dict[str, str], expected: int | None, tmp_path: Path) -> None:
    assert container_memory.limit(machine(tmp_path, files)) == expected


def test_what_is_taken_grows_with_what_is_held(tmp_path: Path) -> None:
    before = container_memory.taken()
    held = bytearray(b"1") * (64 << 20)
    assert 60 << 20 < container_memory.taken() - before < 80 << 20
    assert len(held) and container_memory.taken(tmp_path) == 0
