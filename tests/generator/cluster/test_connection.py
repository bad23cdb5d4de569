"""Which cluster is meant, and what is said when it refuses: against a server that answers so."""

from __future__ import annotations

import socket
import stat
import time
from pathlib import Path
from typing import Any

import pytest
from tf_cluster.cluster import connection as connections
from tf_cluster.cluster.connection import ForbiddenError, connect
from tf_cluster.cluster.reading import trainings, whole
from tf_cluster.exits import RefusedError

from tests.generator.cluster.conftest import EMPTY, Server, config
from tests.generator.conftest import Command


def status(code: int, message: str) -> tuple[int, dict[str, Any], dict[str, str]]:
    return code, {"kind": "Status", "status": "Failure", "code": code, "message": message}, {}


def test_context_and_namespace_are_kubectls(use: Any, server: Server) -> None:
    use(config(server.url))
    assert connect(None, None).namespace == "vision"
    assert connect("there", None).namespace == "default"
    assert connect("there", "speech").namespace == "speech"
    connection = connect(None, None)
    trainings(connection, connection.namespace)
    path, login = server.asked[0]
    assert path.startswith("/apis/batch/v1/namespaces/vision/jobs?")
    assert login == "Bearer abc"


def test_several_files_are_one_and_the_first_counts(
    use: Any, server: Server, tmp_path: Path
) -> None:
    first = config(server.url, tokenFile="token")
    (tmp_path / "token").write_text("from-a-file\n")
    other = config("http://127.0.0.1:9")
    other["contexts"].append({"name": "else", "context": {"cluster": "c", "user": "u"}})
    use(first, other)
    connection = connect("else", None)
    trainings(connection, "default")
    assert server.asked[0][1] == "Bearer from-a-file"


def test_a_server_that_does_not_answer_is_told_with_what_was_asked(
    use: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:  # it takes calls, and says nothing
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        use(config(url))
        connection = connect(None, None)
        began = time.monotonic()
        with pytest.raises(RefusedError) as refused:
            trainings(connection, connection.namespace)
    assert str(refused.value) == f"{url} did not answer within 0.2 s: list jobs in namespace vision"
    assert time.monotonic() - began < 2.0, "twice, not four times"


def test_a_server_behind_a_wall_is_told_soon(use: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its packets are dropped, as without a VPN: the queue of this one is full."""
    monkeypatch.setattr(connections, "CONNECT_SECONDS", 0.3)
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
        waiting = [socket.socket() for _ in range(4)]
        for one in waiting:
            one.setblocking(False)
            one.connect_ex(full.getsockname())
        url = f"http://127.0.0.1:{full.getsockname()[1]}"
        use(config(url))
        connection = connect(None, None)
        began = time.monotonic()
        with pytest.raises(RefusedError, match=r"no answer within 0\.3 s: is the cluster up"):
            trainings(connection, connection.namespace)
        assert time.monotonic() - began < 2.0
        for one in waiting:
            one.close()


def test_two_files_of_one_training_are_not_submitted(
    use: Any, server: Server, tf_cluster: Command, tmp_path: Path
) -> None:
    use(config(server.url))
    text = "name: digits\nimage: registry.example/trainer:1\nprogram: {module: 'a:B'}\n"
    for name in ("first", "second"):
        (tmp_path / f"{name}.params.yaml").write_text(text)
    done = tf_cluster("submit", "first.params.yaml", "second.params.yaml")
    assert done.returncode == 2
    both = "first.params.yaml and second.params.yaml are both digits: nothing is submitted"
    assert both in done.stderr


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_a_plugin_is_asked_for_the_login(
    version: str, use: Any, server: Server, tmp_path: Path
) -> None:
    plugin = tmp_path / "plugin"
    plugin.write_text(
        "#!/bin/sh\n"
        f'test -n "$KUBERNETES_EXEC_INFO" && echo \'{{"status": {{"token": "of-{version}"}}}}\'\n'
    )
    plugin.chmod(plugin.stat().st_mode | stat.S_IEXEC)
    version_word = f"client.authentication.k8s.io/{version}"
    use(config(server.url, exec={"apiVersion": version_word, "command": str(plugin)}))
    trainings(connect(None, None), "default")
    assert server.asked[0][1] == f"Bearer of-{version}"


@pytest.mark.parametrize(
    ("document", "context", "words"),
    [
        (config("http://127.0.0.1:9"), "nowhere", "no context 'nowhere': there are: here, there"),
        ({**config("http://x"), "current-context": ""}, None, "no current context"),
        ({**config("http://x"), "users": []}, None, "names user 'u', not there"),
        ({**config("http://x"), "clusters": []}, None, "names cluster 'c', not there"),
        ("- a\n- b\n", None, "is no kubeconfig"),
        ("a: [", None, "config-0: "),
        ({**config("http://x"), "users": [{"user": {}}]}, None, "an entry of users has no name"),
        (config("http://127.0.0.1:9"), None, "can't reach http://127.0.0.1:9"),
    ],
)
def test_a_cluster_that_is_not_there_is_said_in_a_line(
    document: Any, context: str | None, words: str, use: Any
) -> None:
    use(document)
    with pytest.raises(RefusedError) as refused:
        trainings(connect(context, None), "default")
    assert words in str(refused.value)


def test_without_a_kubeconfig_it_says_what_to_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    with pytest.raises(RefusedError, match="set KUBECONFIG"):
        connect(None, None)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (status(401, "Unauthorized"), "log in again"),
        (status(403, 'jobs.batch is forbidden: User "u" cannot list'), "not allowed: list jobs in"),
        (
            status(403, 'User "u" cannot list resource "jobs" in API group "batch" in the'),
            "missing: {apiGroups: [batch], resources: [jobs], verbs: [list]}",
        ),
        (
            status(403, 'User "u" cannot get resource "pods/log" in API group "" in the name'),
            'missing: {apiGroups: [""], resources: [pods/log], verbs: [get]}',
        ),
        (status(404, "the server could not find the requested resource"), "not found: list jobs"),
        (status(422, "no such field"), "refuses (422)"),
        ((200, b"<html>log in</html>", {}), "answers, and not as an API server does: a login page"),
    ],
)
def test_what_the_server_refuses_is_said_with_what_was_asked(
    answer: Any, words: str, use: Any, server: Server
) -> None:
    use(config(server.url))
    server.answers = [answer]
    with pytest.raises(RefusedError) as refused:
        trainings(connect(None, None), "vision")
    assert words in str(refused.value)
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    "verb", [("list",), ("doctor",), ("top",), ("quota",), ("get", "digits"), ("events", "digits")]
)
@pytest.mark.parametrize("is_there", [True, False])
def test_a_namespace_that_is_not_there_is_no_empty_one(
    verb: tuple[str, ...], is_there: bool, use: Any, server: Server, tf_cluster: Command
) -> None:
    use(config(server.url))
    server.by_path["/api/v1/namespaces/vision"] = (
        (200, {"metadata": {"name": "vision"}}, {}) if is_there else status(404, "not found")
    )
    done = tf_cluster(*verb)
    assert ("there is no namespace vision" in done.stderr) == (not is_there)
    if not is_there:
        assert (done.returncode, done.stdout) == (2, "")


def test_what_the_client_would_leave_out_is_refused_where_it_is_meant(
    use: Any, server: Server
) -> None:
    document = config(server.url)
    other = {"name": "far", "cluster": {"server": "https://far", "proxy-url": "http://proxy"}}
    document["clusters"].append(other)
    document["contexts"].append({"name": "far", "context": {"cluster": "far", "user": "u"}})
    use(document)
    assert trainings(connect(None, None), "vision").trainings == ()
    with pytest.raises(RefusedError, match="cluster 'far' has proxy-url, which this tool does not"):
        connect("far", None)
    use(config(server.url, **{"as": "somebody"}))
    with pytest.raises(RefusedError, match="user 'u' has as, which this tool does not know"):
        connect(None, None)


def test_a_busy_server_is_asked_again(use: Any, server: Server) -> None:
    use(config(server.url))
    code, body, _ = status(429, "too many requests")
    server.answers = [(code, body, {"Retry-After": "1"}), status(503, "not ready")]
    assert trainings(connect(None, None), "vision").trainings == ()
    assert len(server.asked) == 2 + 3


def test_a_server_that_stays_busy_is_given_up(use: Any, server: Server) -> None:
    use(config(server.url))
    server.answers = [status(503, "not ready")] * connections.TRIES
    with pytest.raises(RefusedError, match=r"is busy \(503\): list jobs in namespace vision"):
        trainings(connect(None, None), "vision")
    assert len(server.asked) == connections.TRIES


def test_pages_are_asked_for_until_the_last(use: Any, server: Server) -> None:
    use(config(server.url))
    server.answers = [(200, {**EMPTY, "metadata": {"continue": "more"}}, {}), (200, EMPTY, {})]
    trainings(connect(None, None), "vision")
    jobs = [path for path, _ in server.asked if "/jobs" in path]
    assert ["continue=more" in path for path in jobs] == [False, True]
    assert all("limit=500" in path for path in jobs)


def test_what_may_not_be_read_is_noted_and_the_rest_is_read(use: Any, server: Server) -> None:
    use(config(server.url))
    fine = (200, EMPTY, {})
    none = (200, {"metadata": {}, "items": None}, {})  # as lists of metadata alone say it
    server.answers = [fine, fine, fine, status(403, "no claims"), status(403, "no events")]
    server.answers += [fine, fine, fine, none]
    snapshot = whole(connect(None, None), "vision")
    assert snapshot.unread == (
        "list persistentvolumeclaims in namespace vision",
        "list events in namespace vision",
    )
    server.answers = [status(403, "no jobs")]
    with pytest.raises(ForbiddenError):
        whole(connect(None, None), "vision")
