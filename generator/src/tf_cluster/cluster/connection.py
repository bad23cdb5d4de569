"""The API server that a user means: kubeconfig, context and namespace as kubectl finds them."""

import json
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import httpx2
import msgspec
import yaml
from lightkube import ApiError, Client, KubeConfig
from lightkube.config import client_adapter
from lightkube.config.kubeconfig import SERVICE_ACCOUNT, SingleConfig
from lightkube.config.models import Context, User
from lightkube.core.exceptions import ConfigError

from tf_cluster.exits import RefusedError

Answer = TypeVar("Answer")

SECONDS, CONNECT_SECONDS = 30.0, 10.0
"""How long an answer may take, and a connection: without its VPN a server drops all packets."""
METADATA_OF_ONE = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
"""What an object's metadata is asked for with, without the rest of it."""
PAGE = 500
"""Most objects of one answer."""
TRIES, TRIES_IN_SILENCE = 4, 2
BUSY = (429, 500, 502, 503, 504)
_WAIT_SECONDS = 1.0
_LONGEST_WAIT_SECONDS = 20.0
_FILES_OF = {
    "clusters": ("cluster", ("certificate-authority",)),
    "users": ("user", ("client-certificate", "client-key", "tokenFile")),
    "contexts": ("context", ()),
}
_NOT_KNOWN = {"as", "as-uid", "as-groups", "as-user-extra", "proxy-url", "tls-server-name"}
"""Keys that the client would leave out in silence, and act as somebody else, or elsewhere."""
_FORBIDDEN = re.compile(
    r'cannot (?P<verb>\w+) resource \\*"(?P<resource>[^"\\]+)\\*" '
    r'in API group \\*"(?P<group>[^"\\]*)'
)
"""What an API server says of a right that is missing, also where it stands within JSON."""
_EXEC_V1 = "client.authentication.k8s.io/v1"


class ClusterError(RefusedError):
    """The API server can't be reached, or does not answer what was asked."""


class ForbiddenError(ClusterError):
    """The API server knows us and forbids it. The text says which permission is missing."""


class AbsentError(ClusterError):
    """There is no such object."""


@dataclass(frozen=True)
class Connection:
    """A client, and the namespace that is meant where none is given.

    `context` is the kubeconfig's, empty in a pod.
    """

    client: Client
    http: httpx2.Client
    namespace: str
    server: str
    context: str = ""

    def ask(self, what: str, question: Callable[[], Answer]) -> Answer:
        """The answer to one question. Asks again where the API server is busy or slow.

        `what` names it in errors: `list pods in namespace a`. Raises ClusterError.
        """
        tried = 0
        while True:
            try:
                with explained(self.server, what):
                    return question()
            except _BusyError as busy:
                tried += 1
                if tried >= busy.tries:
                    raise ClusterError(str(busy)) from None
                time.sleep(busy.seconds)

    def items(
        self, what: str, path: str, asked: Mapping[str, str], headers: Mapping[str, str]
    ) -> Iterator[Any]:
        """The items of a list that lightkube can't ask for, page by page. Raises ClusterError."""
        question = {**asked, "limit": str(PAGE)}

        def answer() -> Any:
            got = self.http.get(path, params=question, headers=headers).raise_for_status()
            return msgspec.json.decode(got.content)

        while True:
            page = self.ask(what, answer)
            yield from page.get("items") or ()
            if not page["metadata"].get("continue"):
                return
            question["continue"] = page["metadata"]["continue"]


def connect(context: str | None, namespace: str | None) -> Connection:
    """A client for the context, else for kubectl's current one. Asks nothing yet.

    Raises RefusedError, which says which file was read.
    """
    config = _config(context)
    try:
        timeout = httpx2.Timeout(SECONDS, connect=CONNECT_SECONDS)
        parameters = client_adapter.ConnectionParams(timeout=timeout)
        client = Client(config=config, namespace=namespace, timeout=timeout)
        # A log that is followed holds a connection of its own.
        limits = httpx2.Limits(max_connections=None)
        http = httpx2.Client(**parameters.httpx_params(config), limits=limits)
    except (ConfigError, OSError, ValueError) as error:
        raise RefusedError(f"{_where()}: {error}") from None
    context = config.context_name if config.fname else ""
    server = config.cluster.server
    return Connection(client, http, namespace or config.namespace, server, context)


def refuse_no_namespace(connection: Connection) -> None:
    """Refuse a namespace that is not there, where that may be asked. Raises RefusedError."""
    name = connection.namespace
    path, what = f"/api/v1/namespaces/{name}", f"get namespace {name}"
    headers = {"Accept": METADATA_OF_ONE}
    try:
        connection.ask(what, lambda: connection.http.get(path, headers=headers).raise_for_status())
    except AbsentError:
        raise RefusedError(
            f"there is no namespace {name}: kubectl create namespace {name}"
        ) from None
    except ForbiddenError:
        return


@contextmanager
def explained(server: str, what: str) -> Iterator[None]:
    """Turn what a client raises into a ClusterError with plain words."""
    try:
        yield
    except ApiError as error:
        raise _of_status(error.status.code or 0, str(error.status.message), error, what) from None
    except httpx2.HTTPStatusError as error:
        words = error.response.text.strip()
        raise _of_status(error.response.status_code, words, error, what) from None
    except httpx2.ConnectError as error:
        raise ClusterError(_unreachable(server, str(error))) from None
    except httpx2.ConnectTimeout:
        words = _unreachable(server, f"no answer within {CONNECT_SECONDS:g} s")
        raise _BusyError(words, tries=TRIES_IN_SILENCE) from None
    except httpx2.TimeoutException:
        words = f"{server} did not answer within {SECONDS:g} s: {what}"
        raise _BusyError(words, tries=TRIES_IN_SILENCE) from None
    except httpx2.TransportError as error:
        raise _BusyError(f"{server} broke off: {type(error).__name__}: {what}") from None
    except (ConfigError, OSError) as error:  # a login plugin that is not there, for one
        raise ClusterError(f"{_where()}: can't log in: {error}") from None
    except msgspec.DecodeError:
        raise ClusterError(
            f"{server} answers, and not as an API server does: a login page or a proxy may be in "
            f"between: {what}"
        ) from None
    except (KeyError, json.JSONDecodeError) as error:
        raise ClusterError(
            f"{_where()}: the login plugin gave no token ({error}): others can't be used here"
        ) from None


def _unreachable(server: str, why: str) -> str:
    return f"can't reach {server}: {why}: is the cluster up, and is this the right context?"


class _BusyError(ClusterError):
    def __init__(self, words: str, seconds: float = _WAIT_SECONDS, *, tries: int = TRIES) -> None:
        super().__init__(words)
        self.seconds, self.tries = seconds, tries


def _of_status(code: int, words: str, error: httpx2.HTTPStatusError, what: str) -> Exception:
    if code == 401:
        return ClusterError(
            f"the API server does not accept these credentials (401): log in again, or choose "
            f"another --context ({_where()})"
        )
    if code == 403:
        return ForbiddenError(f"not allowed: {what}: {words}{_rule(words)}")
    if code == 404:
        return AbsentError(f"not found: {what}: {words}")
    if code in BUSY:
        return _BusyError(f"the API server is busy ({code}): {what}: {words}", _pause(error))
    return ClusterError(f"the API server refuses ({code}): {what}: {words}")


def _rule(words: str) -> str:
    """The rule that would allow it, as a Role has it; empty where the words do not say."""
    found = _FORBIDDEN.search(words)
    if not found:
        return ""
    group = found["group"] or '""'
    rule = f"apiGroups: [{group}], resources: [{found['resource']}], verbs: [{found['verb']}]"
    return f". The rule that is missing: {{{rule}}}"


def _pause(error: httpx2.HTTPStatusError) -> float:
    """How long the API server asks us to wait, within reason."""
    said = error.response.headers.get("Retry-After", "") if error.response else ""
    return min(float(said), _LONGEST_WAIT_SECONDS) if said.isdecimal() else _WAIT_SECONDS


def _config(context: str | None) -> SingleConfig:
    files = _kubeconfig_files()
    try:
        if not any(file.is_file() for file in files):
            if context is None and Path(SERVICE_ACCOUNT, "token").exists():
                return _chosen(KubeConfig.from_service_account(), None)
            raise RefusedError(
                f"no kubeconfig ({_where()} is not there): set KUBECONFIG, or ask who runs the "
                "cluster for one"
            )
        merged = _merged(files)
        config = KubeConfig.from_dict(merged, fname=files[0])
        chosen = _chosen(config, context)
        _refuse_not_known(merged, config.contexts[chosen.context_name])
        return chosen
    except (ConfigError, OSError, ValueError, yaml.YAMLError, msgspec.ValidationError) as error:
        raise RefusedError(f"{_where()}: {error}") from None


def _chosen(config: KubeConfig, context: str | None) -> SingleConfig:
    name = context or config.current_context
    known = ", ".join(sorted(config.contexts)) or "none"
    if not name:
        raise RefusedError(f"{_where()} has no current context: choose with --context: {known}")
    if name not in config.contexts:
        raise RefusedError(f"{_where()} has no context {name!r}: there are: {known}")
    chosen = config.contexts[name]
    for kind, wanted, there in (
        ("cluster", chosen.cluster, config.clusters),
        ("user", chosen.user, config.users),
    ):
        if wanted and wanted not in there:
            raise RefusedError(f"{_where()}: context {name!r} names {kind} {wanted!r}, not there")
    one = config.get(name)
    assert one is not None
    return one if one.user else one._replace(user=User())


def _refuse_not_known(merged: Mapping[str, Any], chosen: Context) -> None:
    """Refuse a cluster or user that is not what the client would make of it."""
    for kind, name in (("clusters", chosen.cluster), ("users", chosen.user)):
        key = _FILES_OF[kind][0]
        for entry in merged[kind]:
            unknown = sorted(_NOT_KNOWN & set(entry[key])) if entry["name"] == name else ()
            if unknown:
                raise RefusedError(
                    f"{_where()}: {key} {name!r} has {unknown[0]}, which this tool does not know: "
                    "use kubectl"
                )


def _kubeconfig_files() -> list[Path]:
    said = os.environ.get("KUBECONFIG", "")
    if said:
        return [Path(part).expanduser() for part in said.split(os.pathsep) if part]
    return [Path("~/.kube/config").expanduser()]


def _where() -> str:
    return os.pathsep.join(map(str, _kubeconfig_files()))


def _merged(files: list[Path]) -> dict[str, Any]:
    """The files as one, as kubectl merges them: of two entries of a name the first counts."""
    whole: dict[str, Any] = {kind: [] for kind in _FILES_OF}
    for file in files:
        if not file.is_file():
            continue
        read = yaml.safe_load(file.read_text(encoding="utf-8"))
        if read is None:
            continue
        if not isinstance(read, Mapping):
            raise RefusedError(f"{file} is no kubeconfig")
        if not whole.get("current-context"):
            whole["current-context"] = read.get("current-context") or None
        for kind, (key, paths) in _FILES_OF.items():
            names = {entry["name"] for entry in whole[kind]}
            for entry in read.get(kind) or []:
                if not isinstance(entry, Mapping) or "name" not in entry:
                    raise RefusedError(f"{file}: an entry of {kind} has no name")
                if entry["name"] not in names:
                    content = _absolute(entry.get(key) or {}, paths, file.parent)
                    whole[kind].append({"name": entry["name"], key: content})
    return whole


def _absolute(content: Mapping[str, Any], paths: tuple[str, ...], folder: Path) -> dict[str, Any]:
    """A cluster or user whose files are named from anywhere, and whose plugin we can ask."""
    made = dict(content)
    for path in paths:
        if made.get(path):
            made[path] = str(folder / Path(made[path]).expanduser())
    plugin = made.get("exec")
    if isinstance(plugin, Mapping):
        made["exec"] = _asked_as_v1beta1(plugin)
    return made


def _asked_as_v1beta1(plugin: Mapping[str, Any]) -> dict[str, Any]:
    """The client knows v1beta1 of this interface, whose answer is that of v1."""
    version = plugin.get("apiVersion")
    about = {"apiVersion": version, "kind": "ExecCredential", "spec": {"interactive": False}}
    told = {"name": "KUBERNETES_EXEC_INFO", "value": msgspec.json.encode(about).decode()}
    given = [entry for entry in plugin.get("env") or [] if isinstance(entry, Mapping)]
    known = "client.authentication.k8s.io/v1beta1" if version == _EXEC_V1 else version
    return {**plugin, "apiVersion": known, "env": [*given, told]}
