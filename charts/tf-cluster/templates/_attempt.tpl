{{- /*
An attempt is one set of objects that works on a run. Its hash covers everything whose change needs new pods: the
ConfigMap, the whole spec of each training Job and of a ps Deployment, and run.attempt. All are rendered with a
placeholder in place of the hash. One ps stands for all: they differ only in their index, and the ConfigMap says how
many there are.

The hash is made of parsed values, as JSON: a chart that only indents or quotes in another way restarts nothing.

The hash does not cover the objects' metadata, the claims, the NetworkPolicies, the evaluator and cleanup: a change of
those restarts no training. The Jobs of evaluator and cleanup have a second hash of their own spec.

An attempt's names are made once for all files: "tf-cluster.attempt" gives them as JSON, as "tf-cluster.names" lists
them, and the contexts have them as `names`. All files of a chart have one root context, which keeps them. A Helm that
gave each file its own would make them again, and they would be the same.
*/ -}}
{{- define "tf-cluster.attempt" -}}
{{- if not (hasKey . "attempt") -}}
{{- $_ := set . "attempt" (include "tf-cluster.attempt.new" .) -}}
{{- end -}}
{{- .attempt -}}
{{- end -}}

{{- define "tf-cluster.attempt.new" -}}
{{- include "tf-cluster.guards" . -}}
{{- $draft := dict "root" . "names" (include "tf-cluster.names" (list . "00000000") | fromJson) -}}
{{- $parts := list (include "tf-cluster.config.cluster" $draft | fromJson) -}}
{{- $parts = append $parts (include "tf-cluster.config.training" $draft | fromJson) -}}
{{- $worker := merge (dict "role" (include "tf-cluster.role" "worker" | fromJson)) $draft -}}
{{- $parts = append $parts (include "tf-cluster.worker.spec" $worker | fromYaml) -}}
{{- if $draft.names.chief -}}
{{- $chief := merge (dict "role" (include "tf-cluster.role" "chief" | fromJson)) $draft -}}
{{- $parts = append $parts (include "tf-cluster.chief.spec" $chief | fromYaml) -}}
{{- end -}}
{{- if $draft.names.ps -}}
{{- $ps := merge (dict "role" (include "tf-cluster.role" "ps" | fromJson) "index" 0) $draft -}}
{{- $parts = append $parts (include "tf-cluster.ps.spec" $ps | fromYaml) -}}
{{- end -}}
{{- $hash := append $parts (int64 .Values.run.attempt) | toJson | sha256sum | trunc 8 -}}
{{- $names := include "tf-cluster.names" (list . $hash) | fromJson -}}
{{- if .Values.evaluator.enabled -}}
{{- $evaluator := dict "root" . "names" $names "role" (include "tf-cluster.role" "evaluator" | fromJson) -}}
{{- $_ := set $names "evaluator" (include "tf-cluster.evaluator.name" $evaluator) -}}
{{- end -}}
{{- toJson $names -}}
{{- end -}}

{{- /*
The names of what an attempt is made of, as JSON. Takes a list: the root context and the attempt's hash.

    attempt    the hash itself
    service    the headless Service that gives the attempt's tasks their addresses
    config     the ConfigMap of the tasks
    worker     the workers' Job
    chief      the chief's Job, and its pod's hostname; empty where there is no chief
    client     the Job of the task that drives the run: the chief's or the workers'
    ps         the parameter servers: a list of Deployments, whose pods have the same hostname
    anyPs      their name with {} in place of the index
    cleanup    the account, Role and RoleBinding of cleanup; its Job's name has a hash added
    evaluator  the evaluator's Job, if there is one ("tf-cluster.attempt" adds it)
*/ -}}
{{- define "tf-cluster.names" -}}
{{- $root := first . -}}
{{- $attempt := last . -}}
{{- $fullname := include "tf-cluster.fullname" $root -}}
{{- $names := dict "attempt" $attempt "service" (printf "%s-%s" $fullname $attempt) "chief" "" "ps" list -}}
{{- $client := include "tf-cluster.client" $root -}}
{{- range $word := list "config" "worker" "cleanup" $client -}}
{{- $_ := set $names $word (printf "%s-%s-%s" $fullname $word $attempt) -}}
{{- end -}}
{{- $_ := set $names "client" (get $names $client) -}}
{{- $_ := set $names "anyPs" (printf "%s-ps-{}-%s" $fullname $attempt) -}}
{{- range $index := until (include "tf-cluster.ps.count" $root | int) -}}
{{- $_ := set $names "ps" (append $names.ps (replace "{}" (print $index) $names.anyPs)) -}}
{{- end -}}
{{- toJson $names -}}
{{- end -}}

{{- /* Labels that the attempt's tasks have: chief, workers, ps and evaluator, not cleanup. */ -}}
{{- define "tf-cluster.attempt.tasks" -}}
{{- include "tf-cluster.identity" .root }}
tf-cluster.io/attempt: {{ .names.attempt | quote }}
{{- end -}}
