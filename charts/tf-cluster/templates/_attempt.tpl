{{- /*
An attempt: one set of objects that works on a run. Its hash is made of everything whose change needs
new pods: the ConfigMap, the whole spec of each training Job and of a ps Deployment, each rendered with a
placeholder where the hash will stand, and run.attempt. One ps stands for all: they differ in their index
alone, and how many there are is in the ConfigMap.

What is hashed is what the text means, as JSON: a chart that only indents or quotes in another way
restarts nothing.

Not in it: metadata of the objects, claims, NetworkPolicies, and the evaluator and cleanup (whose Jobs
have a hash of their own on top), so that none of those restarts a training.
*/ -}}
{{- define "tf-cluster.attempt" -}}
{{- $draft := "00000000" -}}
{{- $attempt := dict "root" . "attempt" $draft -}}
{{- $parts := list (include "tf-cluster.config.cluster" $attempt | fromJson) -}}
{{- $parts = append $parts (include "tf-cluster.config.training" $attempt | fromJson) -}}
{{- $worker := dict "root" . "attempt" $draft "role" (include "tf-cluster.role" "worker" | fromJson) -}}
{{- $parts = append $parts (include "tf-cluster.worker.spec" $worker | fromYaml) -}}
{{- if eq (include "tf-cluster.client" .) "chief" -}}
{{- $chief := dict "root" . "attempt" $draft "role" (include "tf-cluster.role" "chief" | fromJson) -}}
{{- $parts = append $parts (include "tf-cluster.chief.spec" $chief | fromYaml) -}}
{{- end -}}
{{- if ne (include "tf-cluster.ps.count" .) "0" -}}
{{- $ps := dict "root" . "attempt" $draft "role" (include "tf-cluster.role" "ps" | fromJson) "index" 0 -}}
{{- $parts = append $parts (include "tf-cluster.ps.spec" $ps | fromYaml) -}}
{{- end -}}
{{- append $parts (int64 .Values.run.attempt) | toJson | sha256sum | trunc 8 -}}
{{- end -}}

{{- /* The headless Service that gives the attempt's tasks their addresses. */ -}}
{{- define "tf-cluster.service.name" -}}
{{- printf "%s-%s" (include "tf-cluster.fullname" .root) .attempt -}}
{{- end -}}

{{- /* What every name of an attempt's object is made of. Takes a list: a word, then the context. */ -}}
{{- define "tf-cluster.attempt.name" -}}
{{- $context := last . -}}
{{- printf "%s-%s-%s" (include "tf-cluster.fullname" $context.root) (first .) $context.attempt -}}
{{- end -}}

{{- /* The Job of the task that drives the run. */ -}}
{{- define "tf-cluster.client.name" -}}
{{- include (printf "tf-cluster.%s.name" (include "tf-cluster.client" .root)) . -}}
{{- end -}}

{{- /* Labels that the attempt's tasks have: chief, workers, ps and evaluator, not cleanup. */ -}}
{{- define "tf-cluster.attempt.tasks" -}}
{{- include "tf-cluster.identity" .root }}
tf-cluster.io/attempt: {{ .attempt | quote }}
{{- end -}}
