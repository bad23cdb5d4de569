{{- /*
The roles of pods, a row each. Templates ask the row and never compare a role's name. A new role is a row here, a
folder with its spec and a section of values, which takes what `pod` has, too ("tf-cluster.podValues"). Every row has
name, claims and gpus; a task's row has ports and index too. Other columns that a row leaves out are null or false. The
table is JSON, which Helm reads much faster than YAML.

Pods of the release, which no attempt has (a notebook, TensorBoard), are no tasks: they have no address in the headless
Service, no label of the attempt and no ConfigMap, and a change of them restarts no training. Their Deployment's spec
calls "tf-cluster.pod" with root and role alone, and passes what it mounts besides as `mounts`.

    name           the role: also its section of values, its component label and its container's name
    task           it is a task of the attempt: it has an address in the headless Service and reads the ConfigMap
    trains         it is a task without which there is no training: a member of its gang
    near           the role whose nodes it prefers, with scheduling.psNearWorkers
    job            its pods are a Job's; else a Deployment's
    page           it serves a page of this title (templates/page): a Deployment of the release with a Service
    restartPolicy  of its pods; null is Always, the only one of a Deployment
    index          who tells a task its index: chart, or job for an Indexed Job
    ports          what it listens on, as in tf-cluster.port.NAME
    probe          the path and port of its readiness probe
    claims         when it mounts the claims: always, script (if it runs the user's script; see ps.logVolume too) or never
    volumes        the claims that it mounts, each at /NAME; null is both, data and log
    readOnly       it only reads the claims
    gpus           when a task is shown GPUs: always, asked (if its limits name one) or never
    code           when it runs the user's code: always, free (where no chief drives it, or it runs a script), script
    resources      of its container, where no values say them
    tagSuffix      what the tag of its image ends in, where its values give no tag: another target of the Dockerfile
    account        of its pods; null is the release's (serviceAccount)
    env            the named template of the variables that this role alone has, or null
    command        of its container; null is the image's own
*/ -}}
{{- define "tf-cluster.roles" -}}
[
{"name": "chief", "task": true, "trains": true, "job": true, "restartPolicy": "Never", "index": "chart",
 "ports": ["tensorflow", "status"], "probe": {"path": "/healthz", "port": "status"},
 "claims": "always", "gpus": "never", "code": "always"},

{"name": "worker", "task": true, "trains": true, "job": true, "restartPolicy": "Never", "index": "job",
 "ports": ["tensorflow", "status"], "probe": {"path": "/healthz", "port": "status"},
 "claims": "always", "gpus": "always", "code": "free"},

{"name": "ps", "task": true, "trains": true, "near": "worker", "index": "chart",
 "ports": ["tensorflow", "status"], "probe": {"path": "/healthz", "port": "status"},
 "claims": "script", "gpus": "never", "code": "script"},

{"name": "evaluator", "task": true, "job": true, "restartPolicy": "Never", "index": "chart",
 "ports": ["status"], "probe": {"path": "/healthz", "port": "status"},
 "claims": "always", "gpus": "asked", "code": "always", "env": "tf-cluster.evaluator.env"},

{"name": "cleanup", "job": true, "restartPolicy": "OnFailure",
 "claims": "never", "gpus": "never", "command": ["tf-cluster-cleanup"]},

{"name": "test", "restartPolicy": "Never", "claims": "always", "volumes": ["log"], "readOnly": true, "gpus": "never",
 "env": "tf-cluster.test.env", "command": ["tf-trainer-check"], "account": "default",
 "resources": {"requests": {"cpu": "20m", "memory": "64Mi"}, "limits": {"memory": "512Mi"}}},

{"name": "tensorboard", "page": "TensorBoard", "ports": ["tensorboard"], "probe": {"path": "/data/environment", "port": "tensorboard"},
 "claims": "always", "volumes": ["log"], "readOnly": true, "gpus": "never", "command": ["tensorboard"]},

{"name": "notebook", "page": "JupyterLab", "ports": ["notebook"], "probe": {"path": "/api", "port": "notebook"},
 "claims": "always", "gpus": "never", "tagSuffix": "-notebook", "env": "tf-cluster.notebook.env"}
]
{{- end -}}

{{- /* The row of a role as JSON. Takes its name. */ -}}
{{- define "tf-cluster.role" -}}
{{- range $row := include "tf-cluster.roles" . | fromJsonArray -}}
{{- if eq $row.name $ -}}{{- toJson $row -}}{{- end -}}
{{- end -}}
{{- end -}}

{{- /* The sections of values with settings of pods: the defaults of all roles, then the roles. Joined by blanks. */ -}}
{{- define "tf-cluster.podSections" -}}
pod
{{- range include "tf-cluster.roles" . | fromJsonArray }} {{ .name }}{{ end -}}
{{- end -}}

{{- define "tf-cluster.port.tensorflow" -}}2222{{- end -}}
{{- define "tf-cluster.port.status" -}}8080{{- end -}}
{{- define "tf-cluster.port.tensorboard" -}}6006{{- end -}}
{{- define "tf-cluster.port.notebook" -}}8888{{- end -}}
