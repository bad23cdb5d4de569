"""What the chart passes on to Kubernetes whole, as Kubernetes itself describes it.

    python -m tools.chart.kubernetes_types           write the excerpts, of both versions
    python -m tools.chart.kubernetes_types --check   write nothing; exit 1 when a file would change

An excerpt has the types that ROOTS reach, of the lowest Kubernetes that the chart is for or of the
newest that it is tried on: a type's fields, a word for each one's type, `*` behind those that have
to be there. The texts come out of Go's modules, whose sums stand in go.sum.
tests/chart/kubernetes/test_types.py holds values.schema.json to them.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools import ROOT
from tools.machine import tools as machine_tools

EXCERPTS = ROOT / "tests" / "chart" / "kubernetes"

# The wrapper modules that require the two versions, below tools/machine/go.
VERSIONS = {"lowest": "kubernetes-lowest", "highest": "kubernetes"}
MODULE = "k8s.io/kubernetes"

_SWAGGER = "api/openapi-spec/swagger.json"
# The published OpenAPI leaves the enums out; the code that it is made by has them.
_CODE = "pkg/generated/openapi/zz_generated.openapi.go"

_CORE, _META, _NETWORK = (
    "io.k8s.api.core.v1.",
    "io.k8s.apimachinery.pkg.apis.meta.v1.",
    "io.k8s.api.networking.v1.",
)
ROOTS: Mapping[str, str] = {
    "affinity": f"{_CORE}Affinity",
    "containerSecurityContext": f"{_CORE}SecurityContext",
    "dataSource": f"{_CORE}TypedLocalObjectReference",
    "env": f"[]{_CORE}EnvVar",
    "envFrom": f"[]{_CORE}EnvFromSource",
    "initContainers": f"[]{_CORE}Container",
    "labelSelector": f"{_META}LabelSelector",
    "networkPolicyPeers": f"[]{_NETWORK}NetworkPolicyPeer",
    "podSecurityContext": f"{_CORE}PodSecurityContext",
    "resourceClaims": f"[]{_CORE}PodResourceClaim",
    "resources": f"{_CORE}ResourceRequirements",
    "sidecars": f"[]{_CORE}Container",
    "tolerations": f"[]{_CORE}Toleration",
    "topologySpreadConstraints": f"[]{_CORE}TopologySpreadConstraint",
    "volumeMounts": f"[]{_CORE}VolumeMount",
    "volumes": f"[]{_CORE}Volume",
}
"""Definitions of values.schema.json, and the type that each is a part of."""

Types = dict[str, dict[str, str]]


@dataclass(frozen=True)
class Source:
    """The files of one version of Kubernetes."""

    folder: Path

    @property
    def version(self) -> str:
        """As Go says it, with its v."""
        return self.folder.name.rpartition("@")[2]

    def read(self, name: str) -> bytes:
        """A file of the module."""
        return (self.folder / name).read_bytes()


def excerpt(source: Source) -> dict[str, Any]:
    """The types that ROOTS reach, and what they were read from."""
    files = {name: source.read(name) for name in (_SWAGGER, _CODE)}
    return {
        "module": f"{MODULE} {source.version}",
        "sha256": {name: hashlib.sha256(text).hexdigest() for name, text in files.items()},
        "types": _types(json.loads(files[_SWAGGER])["definitions"], enums(files[_CODE].decode())),
    }


def _types(definitions: Mapping[str, Any], choices: Mapping[str, list[str]]) -> Types:
    found: Types = {}
    todo = sorted({name.removeprefix("[]") for name in ROOTS.values()})
    while todo:
        name = todo.pop()
        definition = definitions[name]
        if name in found or "properties" not in definition:
            continue
        required = definition.get("required", ())
        found[name] = {
            field + "*" * (field in required): _word(part, choices.get(f"{name}.{field}"))
            for field, part in sorted(definition["properties"].items())
        }
        todo += sorted({*_references(definition)})
    return dict(sorted(found.items()))


def _word(part: Mapping[str, Any], choices: list[str] | None = None) -> str:
    """A type in one word: `int32`, `[]string`, `{}io.k8s…Quantity`, `string: a|b`."""
    if "$ref" in part:
        return str(part["$ref"]).rpartition("/")[2]
    if part["type"] == "array":
        return f"[]{_word(part['items'])}"
    if "additionalProperties" in part:
        return "{}" + _word(part["additionalProperties"])
    word = str(part.get("format", part["type"]))
    return f"{word}: {'|'.join(choices)}" if choices else word


def _references(part: Any) -> Iterator[str]:
    if isinstance(part, Mapping):
        if "$ref" in part:
            yield str(part["$ref"]).rpartition("/")[2]
        part = list(part.values())
    if isinstance(part, list):
        for inner in part:
            yield from _references(inner)


def enums(code: str) -> dict[str, list[str]]:
    """The words of each field that has some, by `<type>.<field>`, of a generated Go file."""
    found = {}
    name = field = ""
    for line in code.splitlines():
        if line.startswith("func schema_"):
            name = _named(line.removeprefix("func schema_").partition("(")[0])
        elif line.startswith('\t\t\t\t\t"') and line.endswith(": {"):
            field = line.split('"')[1]
        elif line.startswith("\t\t\t\t\t\t\tEnum:"):
            found[f"{name}.{field}"] = re.findall(r'"([^"]*)"', line)
    return found


def _named(function: str) -> str:
    """The type that a function of the generated code describes, as the OpenAPI names it."""
    for mark, prefix in (
        ("k8sio_api_core_v1_", _CORE),
        ("k8sio_api_networking_v1_", _NETWORK),
        ("pkg_apis_meta_v1_", _META),
    ):
        if function.startswith(mark):
            return prefix + function.removeprefix(mark)
    return function


def main() -> int:
    """Write the excerpts, or compare them; returns an exit code."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    changed = []
    for name, wrapper in VERSIONS.items():
        file = EXCERPTS / f"{name}.json"
        text = as_text(excerpt(Source(machine_tools.source(wrapper, MODULE))))
        if not file.exists() or file.read_text() != text:
            changed.append(file)
            if not check:
                file.write_text(text)
    for file in changed:
        print(f"{file.relative_to(ROOT)} {'differs' if check else 'is written'}", file=sys.stderr)
    return int(check and bool(changed))


def as_text(found: Mapping[str, Any]) -> str:
    """As the file has it: a line for each type."""
    types = ",\n".join(
        f"    {json.dumps(name)}: {json.dumps(fields)}" for name, fields in found["types"].items()
    )
    head = json.dumps({key: found[key] for key in ("module", "sha256")}, indent=2)
    return head.removesuffix("\n}") + ',\n  "types": {\n' + types + "\n  }\n}\n"


if __name__ == "__main__":
    sys.exit(main())
