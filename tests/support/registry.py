"""A registry of the distribution project on the loopback interface, as charts are pushed to."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.cluster.machine_tools import tool_path
from tests.ports import free_port
from tests.support.waiting import eventually


@contextmanager
def running_registry(folder: Path, *, asks_for_a_login: bool = False) -> Iterator[str]:
    """Its address, host:port; it keeps what it is given below `folder`, and speaks plain HTTP.

    One that asks for a login knows nobody.
    """
    port = free_port()
    users = folder / "users"
    users.touch()
    login = {"auth": {"htpasswd": {"realm": "registry", "path": str(users)}}}
    configuration = folder / "registry.yaml"
    configuration.write_text(
        json.dumps(
            {
                "version": 0.1,
                "log": {"level": "error"},
                "storage": {"filesystem": {"rootdirectory": str(folder / "registry")}},
                "http": {"addr": f"127.0.0.1:{port}"},
                **(login if asks_for_a_login else {}),
            }
        )
    )
    with (folder / "registry.log").open("wb") as log:
        process = subprocess.Popen(
            (tool_path("registry"), "serve", str(configuration)), stdout=log, stderr=log
        )
        try:
            eventually("the registry to listen", lambda: _listens(port, process), 30)
            yield f"127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(30)


def _listens(port: int, process: subprocess.Popen[bytes]) -> bool:
    assert process.poll() is None, "the registry ended"
    table = Path("/proc/net/tcp").read_text()
    return f":{port:04X} 00000000:0000 0A" in table
