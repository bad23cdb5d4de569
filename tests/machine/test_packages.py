from tools.machine.packages import absent


def test_what_dpkg_does_not_call_installed_is_absent() -> None:
    listed = "runc installed\netcd-server config-files\n"
    assert absent(["runc", "etcd-server", "ipset"], listed) == ["etcd-server", "ipset"]
