{{- /*
What every task reads, as the trainer's schemas describe it (docs/formats.md). Takes root, names.
*/ -}}
{{- define "tf-cluster.config" -}}
cluster.json: |
  {{- include "tf-cluster.config.cluster" . | nindent 2 }}
training.json: |
  {{- include "tf-cluster.config.training" . | nindent 2 }}
{{- end -}}

{{- /*
cluster.json: of each type how many tasks there are and where, with {} in place of a task's index. A type without tasks
has no key. The status port of the chief, or of worker 0, has the name of a Service of its own
(service/client-service.yaml says why).
*/ -}}
{{- define "tf-cluster.config.cluster" -}}
{{- $root := .root -}}
{{- $names := .names -}}
{{- $tensorflow := printf ".%s:%s" $names.service (include "tf-cluster.port.tensorflow" .) -}}
{{- $statusPort := printf ":%s" (include "tf-cluster.port.status" .) -}}
{{- $status := printf ".%s%s" $names.service $statusPort -}}
{{- $cluster := dict -}}
{{- $statuses := dict -}}
{{- $counts := dict "worker" (int64 $root.Values.worker.replicas) "ps" (len $names.ps) -}}
{{- $hosts := dict "worker" (printf "%s-{}" $names.worker) "ps" $names.anyPs -}}
{{- range $type, $count := $counts -}}
{{- if $count -}}
{{- $_ := set $cluster $type (dict "count" $count "address" (print (get $hosts $type) $tensorflow)) -}}
{{- $_ := set $statuses $type (dict "count" $count "address" (print (get $hosts $type) $status)) -}}
{{- end -}}
{{- end -}}
{{- with $names.chief -}}
{{- $_ := set $cluster "chief" (list (print . $tensorflow)) -}}
{{- $_ := set $statuses "chief" (list (print . $statusPort)) -}}
{{- else -}}
{{- $_ := set $statuses.worker "first" (printf "%s-0%s" $names.worker $statusPort) -}}
{{- end -}}
{{- $hint := printf "get pods --selector tf-cluster.io/attempt=%s --output wide" $names.attempt -}}
{{- $hint = printf "kubectl --namespace %s %s" $root.Release.Namespace $hint -}}
{{- dict "version" 1 "attempt" $names.attempt "cluster" $cluster "status" $statuses "hint" $hint | toPrettyJson -}}
{{- end -}}

{{- /* training.json: what to train, and how. */ -}}
{{- define "tf-cluster.config.training" -}}
{{- $values := .root.Values -}}
{{- $run := dict "name" (include "tf-cluster.fullname" .root) "id" $values.run.id -}}
{{- $program := dict -}}
{{- with $values.program.module -}}{{- $_ := set $program "module" . -}}{{- end -}}
{{- with $values.program.script -}}
{{- $program = dict "script" . "args" ($values.program.args | default list) "ps" $values.program.ps -}}
{{- end -}}
{{- if $values.interactive.enabled -}}
{{- $program = dict "interactive" (dict "idleSeconds" (int64 $values.interactive.idleSeconds)) -}}
{{- end -}}
{{- with $values.program.path -}}{{- $_ := set $program "path" . -}}{{- end -}}
{{- with include "tf-cluster.config.source" .root | fromJson -}}{{- $_ := set $program "source" . -}}{{- end -}}
{{- /* The default is not written: it would change the attempt's hash. */ -}}
{{- $asked := $values.ps.logVolume -}}
{{- $ps := dict -}}
{{- if and .names.ps (kindIs "bool" $asked) -}}{{- $ps = dict "ps" (dict "logVolume" $asked) -}}{{- end -}}
{{- dict
  "version" 1
  "run" $run
  "program" $program
  "strategy" $values.strategy
  "replication" $values.replication
  "update" $values.update
  "train" (include "tf-cluster.config.given" $values.train | fromJson)
  "flags" ($values.flags | default dict)
  "dirs" (dict "data" "/data" "log" "/log")
  "peers" (include "tf-cluster.config.given" $values.peers | fromJson)
  "failure" (include "tf-cluster.config.given" $values.failure | fromJson)
  | merge $ps | toPrettyJson -}}
{{- end -}}

{{- /*
A section of values that passes through, as JSON without nulls: null means that the key is not given. Helm 3 keeps
the nulls of values.yaml and Helm 4 those of the user. One that came through would change the attempt's hash with the
version of Helm, or when a user writes out a default.
*/ -}}
{{- define "tf-cluster.config.given" -}}
{{- $given := dict -}}
{{- range $key, $value := . -}}
{{- if kindIs "map" $value -}}{{- $value = include "tf-cluster.config.given" $value | fromJson -}}{{- end -}}
{{- if not (kindIs "invalid" $value) -}}{{- $_ := set $given $key $value -}}{{- end -}}
{{- end -}}
{{- toJson $given -}}
{{- end -}}

{{- /* program.source of training.json. Without a source it is an empty object. */ -}}
{{- define "tf-cluster.config.source" -}}
{{- $source := (.Values.program.source | default dict) -}}
{{- $login := dict -}}
{{- with $source.secretName -}}{{- $login = dict "secretName" . -}}{{- end -}}
{{- if $source.files -}}
{{- dict "files" $source.files | toJson -}}
{{- else if $source.url -}}
{{- dict "url" $source.url "sha256" $source.sha256 | merge $login | toJson -}}
{{- else if $source.git -}}
{{- dict "git" $source.git "commit" $source.commit | merge $login | toJson -}}
{{- else -}}
{}
{{- end -}}
{{- end -}}
