"""A GlusterFS of two servers on this machine, a replicated volume on them, and its FUSE mount.

Each server has namespaces of its own (network, mounts, processes): it sees no other glusterd, and
all its processes end with its first one. The servers' network is a bridge of this machine.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

from tests.support.waiting import eventually
from tests.tied import tied_to_us
from tools.machine.packages import GLUSTERFS

VOLUME = "tf"
SECONDS = 60

# What a server does first: its own /run, state and logs, then its address.
BEGIN = """
mount --make-rprivate /
mount --bind {home}/run /run
mount --bind {home}/state /var/lib/glusterd
mount --bind {home}/log /var/log/glusterfs
mkdir -p /run/gluster
# Geo-replication is not used, and asking for it at the start costs its Python program six calls.
for program in /usr/libexec/glusterfs/gsyncd /usr/lib/*/glusterfs/gsyncd; do
    if [ -e "$program" ]; then mount --bind {home}/gsyncd "$program"; fi
done
until ip link show eth0 >/dev/null 2>&1; do sleep 0.05; done
ip link set lo up
ip address add {address}/24 dev eth0
ip link set eth0 up
glusterd --no-daemon --log-level WARNING &
# The shell stays, and takes note of the end of a brick: glusterd does not, and would call it alive.
wait
"""


def lacking() -> str:
    """What a GlusterFS on this machine needs and does not have; empty where nothing is missing."""
    if os.geteuid() != 0:
        return "only root can make the namespaces and the mount of a GlusterFS"
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        return "/dev/fuse can't be opened: the FUSE client of GlusterFS needs the kernel's fuse"
    absent = [name for name in ("glusterd", "gluster", "mount.glusterfs") if not shutil.which(name)]
    if absent:
        how = f"on Debian the packages {' and '.join(GLUSTERFS)} have them"
        return f"no {' and no '.join(absent)}: {how}"
    return ""


@dataclass(frozen=True)
class Server:
    """One server: its folder, its address and its first process."""

    home: Path
    address: str
    outside: subprocess.Popen[bytes]

    @property
    def brick(self) -> Path:
        """Where it keeps its copy of the volume."""
        return self.home / "brick"

    @property
    def inside(self) -> int:
        """The first process of its namespaces. LookupError until it has begun."""
        pid = self.outside.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        if not children:
            raise LookupError(f"{self.address} has not begun")
        return int(children[0])

    def run(self, *command: str) -> str:
        """What a command prints that runs in its namespaces."""
        spaces = ("--net", "--mount", "--pid")
        return _run("nsenter", f"--target={self.inside}", *spaces, *command)

    def gluster(self, *arguments: str) -> str:
        """What its `gluster` prints. LookupError until glusterd listens."""
        if not (self.home / "run" / "glusterd.socket").exists():
            raise LookupError(f"{self.address} does not listen")
        return self.run("gluster", "--mode=script", *arguments)

    def brick_process(self) -> str:
        """The process id, as the server sees it, of what serves its brick. LookupError: none."""
        told = ElementTree.fromstring(self.gluster("volume", "status", VOLUME, "--xml"))
        for node in told.iter("node"):
            if node.findtext("hostname") == self.address and node.findtext("status") == "1":
                return str(node.findtext("pid"))
        raise LookupError(f"{self.address} serves no brick")


@dataclass
class Gluster:
    """Two servers and where their volume is mounted."""

    folder: Path
    mount: Path
    servers: list[Server] = field(default_factory=list)
    bridge: str = ""
    client: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start both servers, make the volume and mount it."""
        number = os.getpid() % 250
        self.bridge = f"tfgl{number}"
        _run("ip", "link", "add", self.bridge, "type", "bridge")
        _run("ip", "address", "add", f"10.199.{number}.1/24", "dev", self.bridge)
        _run("ip", "link", "set", self.bridge, "up")
        for last in (11, 12):
            self.servers.append(self._server(last, f"10.199.{number}.{last}"))
        first, second = self.servers
        eventually("the first glusterd", lambda: first.gluster("peer", "status"), SECONDS)
        eventually("the second glusterd", lambda: second.gluster("peer", "status"), SECONDS)
        first.gluster("peer", "probe", second.address)
        eventually("the peers", lambda: "(Connected)" in first.gluster("peer", "status"), SECONDS)
        bricks = [f"{server.address}:{server.brick}" for server in self.servers]
        eventually(
            "the volume",
            lambda: first.gluster("volume", "create", VOLUME, "replica", "2", *bricks, "force"),
            SECONDS,
        )
        first.gluster("volume", "start", VOLUME)
        self.mount.mkdir(parents=True)
        source = (f"--volfile-server={first.address}", f"--volfile-id=/{VOLUME}")
        log = (f"--log-file={self.folder}/client.log", "--log-level=WARNING")
        command = tied_to_us("glusterfs", "--no-daemon", *source, *log, self.mount)
        self.client = subprocess.Popen(command, stdin=subprocess.DEVNULL)
        eventually("the mount", lambda: os.path.ismount(self.mount), SECONDS)

    def _server(self, number: int, address: str) -> Server:
        home = self.folder / f"server-{number}"
        for name in ("run", "state", "log", "brick"):
            (home / name).mkdir(parents=True)
        (home / "gsyncd").write_text("#!/bin/sh\necho gsyncd\n")
        (home / "gsyncd").chmod(0o755)
        spaces = ("--net", "--mount", "--pid", "--mount-proc", "--fork", "--kill-child")
        begin = BEGIN.format(home=home, address=address)
        with (home / "log" / "out").open("wb") as out:
            outside = subprocess.Popen(
                tied_to_us("unshare", *spaces, "sh", "-ec", begin),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
            )
        server = Server(home, address, outside)
        inside = eventually(f"the namespaces of {address}", lambda: server.inside, SECONDS)
        cable = f"{self.bridge}-{number}"
        peer = ("peer", "name", "eth0", "netns", str(inside))
        _run("ip", "link", "add", cable, "master", self.bridge, "type", "veth", *peer)
        _run("ip", "link", "set", cable, "up")
        return server

    def kill_brick(self, server: Server) -> None:
        """Kill what serves one copy of the volume."""
        server.run("kill", "-KILL", server.brick_process())

        def is_gone() -> bool:
            try:
                server.brick_process()
            except LookupError:
                return True
            return False

        eventually("the brick to be gone", is_gone, SECONDS)

    def restart_brick(self, server: Server) -> None:
        """Serve it again."""
        server.gluster("volume", "start", VOLUME, "force")
        eventually("the brick", server.brick_process, SECONDS)

    def to_heal(self, server: Server) -> int:
        """How many files of a server's copy the other copy lacks, or has with other content.

        LookupError while the server can't say.
        """
        told = self.servers[0].gluster("volume", "heal", VOLUME, "info")
        mine = told.partition(f"Brick {server.address}:")[2].partition("\nBrick ")[0]
        found = re.search(r"^Number of entries: (\d+)$", mine, re.MULTILINE)
        if not found:
            raise LookupError(told)
        return int(found[1])

    def stop(self) -> None:
        """Unmount; end all that was started."""
        if os.path.ismount(self.mount):
            _run("umount", "--lazy", str(self.mount))
        if self.client:
            self.client.kill()
            self.client.wait()
        if self.mount.exists():
            self.mount.rmdir()
        for server in self.servers:
            os.kill(server.inside, signal.SIGKILL)
            server.outside.wait()
        if self.bridge:
            _run("ip", "link", "delete", self.bridge)


def _run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"
    return done.stdout
