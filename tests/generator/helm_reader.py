"""Reads a values file with the real helm, and says what its templates would see."""

from __future__ import annotations

import base64
import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class HelmReader:
    """A chart that prints its values as JSON, and the helm that renders it."""

    helm: str
    chart: Path

    @classmethod
    def make(cls, helm: str, folder: Path) -> HelmReader:
        """Write the chart into `folder`."""
        (folder / "templates").mkdir(parents=True)
        (folder / "Chart.yaml").write_text("apiVersion: v2\nname: reader\nversion: 0.1.0\n")
        (folder / "values.yaml").write_text("{}\n")
        # base64: no character of the values can break the YAML around them
        template = "json: {{ .Values | toJson | b64enc }}\n"
        (folder / "templates" / "values.yaml").write_text(template)
        return cls(helm, folder)

    def read(self, text: str) -> dict[str, Any]:
        """The values as Helm types them."""
        values = self.chart / "given.values"
        values.write_text(text, encoding="utf-8")
        rendered = subprocess.run(
            (self.helm, "template", "r", str(self.chart), "-f", str(values)),
            capture_output=True,
            text=True,
            check=False,
        )
        assert rendered.returncode == 0, rendered.stderr[:2000]
        lines = rendered.stdout.splitlines()
        line = next(line for line in lines if line.startswith("json: "))
        document = json.loads(base64.b64decode(line.removeprefix("json: ")))
        assert isinstance(document, dict)
        return document
