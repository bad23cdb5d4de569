"""The codes of findings on several files: a params file and its values, or two params files."""

from tf_cluster.findings.finding import Code

DRIFT = Code(
    "TFC601",
    "a values file that is not what its params file asks for",
    why="The values file is what a cluster gets, so a change of the params alone does nothing.",
    wrong="workers: 3\n### p.values.yaml\nworker: {replicas: 2}",
    right="workers: 3\n# after: tf-cluster generate --pairs p.params.yaml",
)
NAME_TWICE = Code(
    "TFC602",
    "two params files of one folder have one name (warning)",
    why=(
        "A training's objects have its name, so a namespace has room for one of the two. Most "
        "often a file was copied. Files of two folders are not compared: they may be one training "
        "in two namespaces."
    ),
    wrong="workers: 3\n### q.params.yaml\nworkers: 4",
    right="workers: 3\n### q.params.yaml\nname: letters",
)
_PORT = "{{enabled: true, service: {{type: NodePort, nodePort: {}}}}}"
NODE_PORT_TWICE = Code(
    "TFC603",
    "two params files of one folder take one port of the nodes (warning)",
    why="A port of the nodes belongs to one Service of a cluster, whatever the namespaces are.",
    wrong=(
        f"extraValues:\n  tensorboard: {_PORT.format(30006)}\n"
        f"### q.params.yaml\nname: letters\nextraValues:\n  tensorboard: {_PORT.format(30006)}"
    ),
    right=(
        f"extraValues:\n  tensorboard: {_PORT.format(30006)}\n"
        f"### q.params.yaml\nname: letters\nextraValues:\n  tensorboard: {_PORT.format(30007)}"
    ),
)
VOLUME_TWICE = Code(
    "TFC604",
    "two params files of one folder take one PersistentVolume (warning)",
    why=(
        "A PersistentVolume is bound to one claim, and each training makes its own: the second "
        "one waits for ever."
    ),
    wrong=(
        'log: {class: "", volume: disk-1}\n'
        '### q.params.yaml\nname: letters\nlog: {class: "", volume: disk-1}'
    ),
    right=(
        'log: {class: "", volume: disk-1}\n'
        '### q.params.yaml\nname: letters\nlog: {class: "", volume: disk-2}'
    ),
)
