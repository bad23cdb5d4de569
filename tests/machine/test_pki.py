import shutil
import ssl
import subprocess
from pathlib import Path

import pytest

from tools.machine import pki
from tools.machine.layout import Addresses


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    made = tmp_path_factory.mktemp("pki")
    pki.create(made, Addresses())
    return made


def test_every_certificate_is_signed_by_the_authority(folder: Path) -> None:
    for identity in pki.identities(Addresses()):
        verify = ["openssl", "verify", "-x509_strict", "-CAfile", str(folder / "ca.crt")]
        done = subprocess.run([*verify, str(folder / f"{identity.file}.crt")], capture_output=True)
        assert done.returncode == 0, done.stdout + done.stderr


def test_python_takes_the_pair_of_the_admin(folder: Path) -> None:
    context = ssl.create_default_context(cafile=str(folder / "ca.crt"))
    context.load_cert_chain(folder / "admin.crt", folder / "admin.key")


def test_nobody_else_can_read_the_keys(folder: Path) -> None:
    assert folder.stat().st_mode & 0o077 == 0


def test_what_is_complete_is_kept(folder: Path) -> None:
    before = (folder / "ca.crt").read_bytes()
    pki.create(folder, Addresses())
    assert (folder / "ca.crt").read_bytes() == before
