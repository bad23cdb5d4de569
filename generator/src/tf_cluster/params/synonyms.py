"""Words that people use for a key or a value of ours, found in other tools and in other fields."""

from collections.abc import Mapping

from tf_cluster.pointer import Pointer

# Keys of these tables have no capitals and no `-`, `_` or blanks: see `folded` in spelling.py.

SAME: Mapping[str, tuple[str, ...]] = {
    "synchronous": ("sync",),
    "asynchronous": ("async",),
    "rwx": ("ReadWriteMany",),
    "rwo": ("ReadWriteOnce",),
    "rox": ("ReadOnlyMany",),
    "rwop": ("ReadWriteOncePod",),
    "fp32": ("float32",),
    "maximum": ("max",),
    "minimum": ("min",),
    "parameterservers": ("ps", "parameter-server"),
    "existingclaim": ("claim",),
    "claimname": ("claim",),
    "pvc": ("claim",),
    "storageclass": ("class",),
    "storageclassname": ("class",),
    "volumename": ("volume",),
    "accessmode": ("accessModes",),
    "gpu": ("gpus",),
    "numgpus": ("gpus",),
    "ngpus": ("gpus",),
    "gpucount": ("gpus",),
    "nodeselector": ("selector",),
    "nodeselectors": ("selector",),
    "toleration": ("tolerations",),
    "priorityclass": ("priority",),
    "priorityclassname": ("priority",),
    "serviceaccountname": ("serviceAccount",),
    "imagepullsecret": ("imagePullSecrets",),
    "jupyter": ("notebook",),
    "jupyterlab": ("notebook",),
}
"""Another name of the same thing; the first word that is known here is meant."""

CLOSE: Mapping[str, tuple[str, ...]] = {
    "ps": ("parameter-server",),
    "centralstorage": ("parameter-server",),
    "parameterserverstrategy": ("parameter-server",),
    "parameterserverstrategyv2": ("parameter-server",),
    "mirrored": ("all-reduce",),
    "mirroredstrategy": ("all-reduce",),
    "multiworkermirrored": ("all-reduce",),
    "multiworkermirroredstrategy": ("all-reduce",),
    "collective": ("all-reduce",),
    "horovod": ("all-reduce",),
    "nccl": ("all-reduce",),
    "ring": ("all-reduce",),
    "mode": ("update",),
    "syncreplicas": ("sync",),
    "syncreplicasoptimizer": ("sync",),
    "between": ("between-graph",),
    "betweengraphreplication": ("between-graph",),
    "fp16": ("mixed_bfloat16",),
    "float16": ("mixed_bfloat16",),
    "half": ("mixed_bfloat16",),
    "mixed": ("mixed_bfloat16",),
    "mixedfloat16": ("mixed_bfloat16",),
    "mixedprecision": ("mixed_bfloat16", "precision"),
    "bf16": ("mixed_bfloat16",),
    "bfloat16": ("mixed_bfloat16",),
    "float": ("float32",),
    "full": ("float32",),
    "highest": ("max",),
    "greatest": ("max",),
    "maximize": ("max",),
    "lowest": ("min",),
    "minimize": ("min",),
    "least": ("min",),
    "exponentialdecay": ("exponential",),
    "exp": ("exponential",),
    "cosinedecay": ("cosine",),
    "lineardecay": ("linear",),
    "polynomial": ("linear",),
    "fixed": ("constant",),
    "replicas": ("workers",),
    "numworkers": ("workers",),
    "workerreplicas": ("workers",),
    "workercount": ("workers",),
    "count": ("worker",),
    "gpus": ("gpu",),
    "numps": ("ps",),
    "psreplicas": ("ps",),
    "servers": ("ps",),
    "dockerimage": ("image",),
    "container": ("image",),
    "containerimage": ("image",),
    "hparams": ("flags",),
    "hyperparameters": ("flags",),
    "parameters": ("flags",),
    "config": ("flags",),
    "capacity": ("size",),
    "pv": ("volume",),
    "file": ("script",),
    "main": ("script",),
    "entrypoint": ("script",),
    "class": ("module",),
    "arguments": ("args",),
    "command": ("args",),
    "maxsteps": ("steps",),
    "numsteps": ("steps",),
    "totalsteps": ("steps",),
    "trainsteps": ("steps",),
    "iterations": ("steps",),
    "jit": ("xla",),
    "jitcompile": ("xla",),
    "gradientaccumulation": ("microBatches",),
    "gradientaccumulationsteps": ("microBatches",),
    "accumulationsteps": ("microBatches",),
    "lr": ("learningRate",),
    "batch": ("batchSize",),
    "warmup": ("warmupSteps",),
    "accelerators": ("gpus",),
    "accelerator": ("gpus",),
    "pullsecret": ("imagePullSecrets",),
    "pullsecrets": ("imagePullSecrets",),
    "registrysecret": ("imagePullSecrets",),
    "eval": ("evaluator",),
    "evaluation": ("evaluator",),
    "notebooks": ("notebook",),
    "jupyterhub": ("notebook",),
    "tb": ("tensorboard",),
    "labels": ("selector",),
    "taints": ("tolerations",),
    "activedeadlineseconds": ("deadlineSeconds",),
    "deadline": ("deadlineSeconds",),
    "timeout": ("deadlineSeconds",),
}
"""A word for what is close to it: a guess."""

ALIKE = frozenset(
    (
        *("readwriteonce", "readwritemany", "readonlymany", "readwriteoncepod"),
        *("gpu", "gpus", "tpu", "tpus"),
        *("date", "notes", "scheduler"),
        *("workercpu", "workercpus", "workergpu", "workergpus", "workermemory"),
    )
)
"""Words of their own that resemble others, and that mistype none."""

ELSEWHERE: Mapping[str, Pointer] = {
    "steps": ("train", "steps"),
    "maxsteps": ("train", "steps"),
    "numsteps": ("train", "steps"),
    "totalsteps": ("train", "steps"),
    "trainsteps": ("train", "steps"),
    "iterations": ("train", "steps"),
    "batch": ("train", "batchSize"),
    "batchsize": ("train", "batchSize"),
    "lr": ("train", "optimizer", "learningRate"),
    "learningrate": ("train", "optimizer", "learningRate"),
    "warmup": ("train", "optimizer", "schedule", "warmupSteps"),
    "checkpointseconds": ("train", "checkpoint", "seconds"),
    "checkpointsteps": ("train", "checkpoint", "steps"),
    "script": ("program", "script"),
    "file": ("program", "script"),
    "main": ("program", "script"),
    "entrypoint": ("program", "script"),
    "args": ("program", "args"),
    "arguments": ("program", "args"),
    "nodeselector": ("nodes", "selector"),
    "nodeselectors": ("nodes", "selector"),
    "tolerations": ("nodes", "tolerations"),
    "toleration": ("nodes", "tolerations"),
    "runid": ("run", "id"),
    "deadlineseconds": ("run", "deadlineSeconds"),
    "activedeadlineseconds": ("run", "deadlineSeconds"),
}
"""Where a key of the params file is that people write at its top or one level too high."""

_GPUS = "gpus says how many, as in gpus: 1"
_TPUS = "there are no TPUs here: gpus says how many GPUs a worker has"
_AFFINITY = "extraValues.pod.affinity has it, and extraValues.worker.affinity the workers' own"
_HELM = "Helm has it: helm install NAME CHART --namespace NAMESPACE"
_SYNC = "update says it, as in update: sync"
_SAVED = "train.checkpoint says how often, as in checkpoint: {seconds: 600, keep: 3}"
_PRECISION = "train.precision says it, as in precision: mixed_bfloat16"
_RETRIES = (
    "failed pods are replaced: extraValues.worker.backoffLimit and extraValues.chief.backoffLimit "
    "say how often"
)
_EPOCHS = (
    "train.steps says how long: epochs × examples / batchSize, and with update: sync or all-reduce "
    "/ workers, too"
)
_RESOURCES = "resources says it, as in resources: {worker: {requests: {cpu: 4, memory: 8Gi}}}"
_IMAGE = "image is one text, as in image: registry.example.com/team/trainer:1.0"
_TFJOB = "a TFJob has it, and `tf-cluster convert` makes a params file of one"
_OBJECT = "it is of a Kubernetes object, and a params file is none"
_WORKERS = "workers is their number, as in workers: 4"
_KEPT = "a release stays until helm uninstall"
_LOG = "log is the volume at /log: checkpoints, events, exports"
_VARIABLES = "extraValues.worker.extraEnv has variables, as in [{name: TZ, value: UTC}]"
SENTENCES: Mapping[str, str] = {
    "nvidia.com/gpu": _GPUS,
    "gpu": _GPUS,
    "gpus": _GPUS,
    "gpusperworker": _GPUS,
    "workergpus": _GPUS,
    "workergpu": _GPUS,
    "cpuspertask": _RESOURCES,
    "mem": _RESOURCES,
    "workercpu": _RESOURCES,
    "workercpus": _RESOURCES,
    "workermemory": _RESOURCES,
    "pscpu": _RESOURCES,
    "psmemory": _RESOURCES,
    "tag": _IMAGE,
    "repository": _IMAGE,
    "apiversion": _OBJECT,
    "kind": _OBJECT,
    "metadata": _OBJECT,
    "tfreplicaspecs": _TFJOB,
    "replicaspecs": _TFJOB,
    "cleanpodpolicy": "tasks end by themselves, and cleanup ends the ps",
    "nnodes": _WORKERS,
    "ntasks": _WORKERS,
    "instancecount": _WORKERS,
    "numnodes": _WORKERS,
    "instancetype": "nodes says on which nodes, as in nodes: {selector: {pool: gpu}}",
    "nprocpernode": "a worker is one process; gpus says how many GPUs it has",
    "master": "there is no master: a run with ps has a chief, and all-reduce takes worker 0",
    "globalbatchsize": "train.batchSize is that of one worker",
    "savesteps": _SAVED,
    "savestep": _SAVED,
    "savecheckpointssteps": _SAVED,
    "checkpointdir": _LOG,
    "modeldir": _LOG,
    "datadir": "data is the volume at /data, as in data: {claim: sets}",
    "training": "train has its settings, as in train: {steps: 2000, batchSize: 64}",
    "time": "run.deadlineSeconds ends a run, as in 86400 for a day",
    "ngpus": _GPUS,
    "numgpus": _GPUS,
    "tpu": _TPUS,
    "tpus": _TPUS,
    "scheduler": "scheduling.gang has it, as in scheduling: {gang: {provider: volcano}}",
    "amd.com/gpu": "gpus says how many, as in gpus: {worker: 1, vendor: amd.com/gpu}",
    "affinity": _AFFINITY,
    "nodeaffinity": _AFFINITY,
    "interactive": "values-examples/interactive.values.yaml is such a cluster, for helm",
    "namespace": _HELM,
    "release": _HELM,
    "releasename": _HELM,
    "epochs": _EPOCHS,
    "numepochs": _EPOCHS,
    "maxepochs": _EPOCHS,
    "trainepochs": _EPOCHS,
    "env": _VARIABLES,
    "environment": _VARIABLES,
    "extraenv": _VARIABLES,
    "sync": _SYNC,
    "synchronous": _SYNC,
    "async": "update says it, as in update: async",
    "amp": _PRECISION,
    "mixedprecision": _PRECISION,
    "checkpointing": _SAVED,
    "checkpoints": _SAVED,
    "checkpointevery": _SAVED,
    "checkpointinterval": _SAVED,
    "saveevery": _SAVED,
    "backofflimit": _RETRIES,
    "restartpolicy": _RETRIES,
    "ttl": _KEPT,
    "ttlsecondsafterfinished": _KEPT,
    "pullpolicy": "extraValues.image.pullPolicy has it",
    "output": _LOG,
    "outputdir": _LOG,
    "logdir": f"{_LOG}; tensorboard.logdir is what TensorBoard shows of it",
    "dataset": "data is the volume at /data; flags are the program's own settings",
    "worker": "workers is their number, resources.worker what each gets; the rest is "
    "extraValues.worker",
    "chief": "resources.chief is what it gets; the rest is extraValues.chief",
    "storage": "data and log are the volumes",
    "timeout": "run.deadlineSeconds ends a run, as in 86400 for a day",
}
"""What to do about a key that has no one key of ours in its place."""

NAMES: Mapping[Pointer, str] = {
    ("priority",): "it is the name of a PriorityClass, as in priority: high",
}
"""Texts for which a number is no name with its quotes forgotten, and what they are."""

_QUEUE = "scheduling.queue names a LocalQueue of Kueue, in place of gang"
_ADAM = "Adam is the nearest to it here"
OF_VALUES: Mapping[tuple[str, str], str] = {
    ("scheduling.gang", "kueue"): _QUEUE,
    ("scheduling.gang.provider", "kueue"): _QUEUE,
    ("train.optimizer.name", "rmsprop"): _ADAM,
    ("train.optimizer.name", "adadelta"): _ADAM,
}
"""What to do about a word that is none of the key's, by the key and the word."""
