from pathlib import Path

from tools.machine.layout import Layout
from tools.machine.volume import StaticVolume


def test_a_static_volume_is_shared_by_all_and_belongs_to_no_class() -> None:
    layout = Layout(state=Path("/var/lib/example"), cache=Path("/unused"))
    spec = StaticVolume("shared").manifest(layout)["spec"]
    assert "ReadWriteMany" in spec["accessModes"]
    assert spec["storageClassName"] == ""
    assert spec["hostPath"]["path"] == "/var/lib/example/volumes/shared"
