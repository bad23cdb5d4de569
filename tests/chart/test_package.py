"""The packaged chart: signed, pushed to a real registry, pulled, verified, by both Helms."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from tests.chart.helm import CHART, HELMS, LEAST, ROOT, Rendered, command, render
from tests.support.registry import running_registry

VERSION = yaml.safe_load((CHART / "Chart.yaml").read_text())["version"]
IDENTITY = "Tests of tf-cluster <tests@example.com>"
SETTINGS = (
    f"--set=image.repository={LEAST['image']['repository']}",
    f"--set=program.module={LEAST['program']['module']}",
    "--namespace=training",
)


@dataclass(frozen=True)
class Keys:
    """Key rings as Helm reads them: one that signs, one to verify with, one of a stranger."""

    secret: Path
    public: Path
    stranger: Path


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Keys]:
    """Made by gpg as docs/releasing.md does it, for a day."""
    if not shutil.which("gpg"):
        pytest.skip("needs gpg to make a key")
    folder = tmp_path_factory.mktemp("keys")
    made = Keys(folder / "secring.gpg", folder / "pubring.gpg", folder / "stranger.gpg")
    _make_key(IDENTITY, made.public, made.secret)
    _make_key("A stranger <stranger@example.com>", made.stranger, None)
    yield made


def _make_key(identity: str, public: Path, secret: Path | None) -> None:
    # The agent's socket has a short path, whatever the tests' folder is.
    with tempfile.TemporaryDirectory(prefix="gpg", ignore_cleanup_errors=True) as home:
        environment = {**os.environ, "GNUPGHOME": home}

        def gpg(*words: str) -> None:
            fixed = ("gpg", "--batch", "--yes", "--pinentry-mode=loopback", "--passphrase=")
            subprocess.run((*fixed, *words), env=environment, check=True, capture_output=True)

        try:
            gpg("--quick-generate-key", identity, "rsa3072", "sign", "1d")
            gpg(f"--output={public}", "--export", identity)
            if secret:
                gpg(f"--output={secret}", "--export-secret-keys", identity)
        finally:
            stop = ("gpgconf", "--kill", "gpg-agent")
            subprocess.run(stop, env=environment, check=False, capture_output=True)


def helm(*words: str, helm: str) -> str:
    """What it printed, on both streams: Helm tells the digest on stderr."""
    done = command(*words, helm=helm)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module", params=HELMS)
def version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def package(version: str, keys: Keys, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The chart as this Helm packages and signs it."""
    folder = tmp_path_factory.mktemp("package")
    signed = ("--sign", f"--key={IDENTITY}", f"--keyring={keys.secret}")
    helm("package", str(CHART), f"--destination={folder}", *signed, helm=version)
    return folder / f"tf-cluster-{VERSION}.tgz"


@pytest.fixture(scope="module")
def address(version: str, package: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where the package was pushed to."""
    with running_registry(tmp_path_factory.mktemp("registry")) as registry:
        helm("push", str(package), f"oci://{registry}/charts", "--plain-http", helm=version)
        yield f"oci://{registry}/charts/tf-cluster"


def test_what_was_pushed_renders_as_the_folder_does(version: str, address: str) -> None:
    words = ("template", "digits", address, f"--version={VERSION}", "--plain-http", *SETTINGS)
    _, _, text = command(*words, helm=version).stdout.partition(
        "---\n"
    )  # Helm 4 tells the digest first
    assert Rendered(text).objects == render(helm=version).objects


def test_what_is_pulled_is_verified_by_its_key(
    version: str, address: str, keys: Keys, tmp_path: Path
) -> None:
    words = ("pull", address, f"--version={VERSION}", "--plain-http", f"--destination={tmp_path}")
    said = helm(*words, "--verify", f"--keyring={keys.public}", helm=version)
    assert f"Signed by: {IDENTITY}" in said
    assert (tmp_path / f"tf-cluster-{VERSION}.tgz.prov").exists()
    refused = command(*words, "--verify", f"--keyring={keys.stranger}", helm=version)
    assert refused.returncode != 0
    assert "signature made by unknown entity" in refused.stderr


def test_a_package_that_was_changed_is_not_verified(
    version: str, package: Path, keys: Keys, tmp_path: Path
) -> None:
    for file in (package, Path(f"{package}.prov")):
        shutil.copy(file, tmp_path)
    copy = tmp_path / package.name
    words = ("verify", str(copy), f"--keyring={keys.public}")
    helm(*words, helm=version)
    with copy.open("ab") as file:
        file.write(b"x")
    refused = command(*words, helm=version)
    assert refused.returncode != 0
    assert "sha256 sum does not match" in refused.stderr


def test_what_one_helm_packed_the_other_verifies_and_renders(
    version: str, package: Path, keys: Keys
) -> None:
    (other,) = (one for one in HELMS if one != version)
    helm("verify", str(package), f"--keyring={keys.public}", helm=other)
    words = ("template", "digits", str(package), *SETTINGS)
    assert Rendered(command(*words, helm=other).stdout).objects == render().objects


def test_the_umbrella_is_packed_with_its_parts_and_without_the_repository(
    version: str, tmp_path: Path
) -> None:
    helm("package", str(ROOT), f"--destination={tmp_path}", helm=version)
    (packed,) = tmp_path.glob("tf-platform-*.tgz")
    listed = subprocess.run(
        ("tar", "--list", f"--file={packed}"), check=True, capture_output=True, text=True
    ).stdout.splitlines()
    assert "tf-platform/charts/tf-cluster/values.schema.json" in listed
    folders = {name.split("/")[1] for name in listed}
    assert folders <= {
        "Chart.yaml",
        "Chart.lock",
        "LICENSE",
        "README.md",
        "charts",
        "templates",
        "values.yaml",
        "values.schema.json",
    }
    settings = (one.replace("--set=", "--set=tf-cluster.") for one in SETTINGS)
    words = ("template", "digits", str(packed), *settings)
    assert {o["kind"] for o in Rendered(helm(*words, helm=version)).objects} >= {"Job", "ConfigMap"}
