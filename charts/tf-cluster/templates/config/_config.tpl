{{- /*
What every task reads, as the trainer's schemas describe it (docs/formats.md). Takes root, attempt.
*/ -}}
{{- define "tf-cluster.config" -}}
cluster.json: |
  {{- include "tf-cluster.config.cluster" . | nindent 2 }}
training.json: |
  {{- include "tf-cluster.config.training" . | nindent 2 }}
{{- end -}}

{{- /*
cluster.json: the tasks and their addresses. The status port of the chief, or of worker 0, has the name of a
Service of its own (service/client-service.yaml says why).
*/ -}}
{{- define "tf-cluster.config.cluster" -}}
{{- $root := .root -}}
{{- $chief := include "tf-cluster.chief.name" . -}}
{{- $worker := include "tf-cluster.worker.name" . -}}
{{- /* A type without tasks has no key. */ -}}
{{- $port := include "tf-cluster.port.tensorflow" . -}}
{{- $statusPort := include "tf-cluster.port.status" . -}}
{{- $cluster := dict -}}
{{- $status := dict -}}
{{- range $type, $names := include "tf-cluster.config.hosts" . | fromYaml -}}
{{- $hosts := splitList " " $names -}}
{{- $_ := set $cluster $type (printf "%s:%s" (join (printf ":%s " $port) $hosts) $port | splitList " ") -}}
{{- $_ := set $status $type (printf "%s:%s" (join (printf ":%s " $statusPort) $hosts) $statusPort | splitList " ") -}}
{{- end -}}
{{- if eq (include "tf-cluster.client" $root) "chief" -}}
{{- $_ := set $status "chief" (list (printf "%s:%s" $chief $statusPort)) -}}
{{- else -}}
{{- $_ := set $status "worker" (prepend (rest $status.worker) (printf "%s-0:%s" $worker $statusPort)) -}}
{{- end -}}
{{- $hint := printf "kubectl --namespace %s get pods --selector tf-cluster.io/attempt=%s --output wide" $root.Release.Namespace .attempt -}}
{{- dict "version" 1 "attempt" .attempt "cluster" $cluster "status" $status "hint" $hint | toPrettyJson -}}
{{- end -}}

{{- /* The tasks' hosts by type, joined by blanks. A list would be copied for each host that is added. */ -}}
{{- define "tf-cluster.config.hosts" -}}
{{- $root := .root -}}
{{- $service := include "tf-cluster.service.name" . -}}
{{- $worker := include "tf-cluster.worker.name" . -}}
{{- if eq (include "tf-cluster.client" $root) "chief" }}
chief: {{ include "tf-cluster.chief.name" . }}.{{ $service }}
{{- end }}
{{- with include "tf-cluster.ps.names" . }}
ps: {{ replace " " (printf ".%s " $service) . }}.{{ $service }}
{{- end }}
worker: {{ range $index := until (int $root.Values.worker.replicas) -}}
{{- if $index }} {{ end }}{{ $worker }}-{{ $index }}.{{ $service }}
{{- end }}
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
{{- with $values.program.path -}}{{- $_ := set $program "path" . -}}{{- end -}}
{{- with include "tf-cluster.config.source" .root | fromJson -}}{{- $_ := set $program "source" . -}}{{- end -}}
{{- $optimizer := dict "name" $values.train.optimizer.name "learningRate" $values.train.optimizer.learningRate -}}
{{- if not (kindIs "invalid" $values.train.optimizer.momentum) -}}
{{- $_ := set $optimizer "momentum" $values.train.optimizer.momentum -}}
{{- end -}}
{{- $schedule := dict "name" $values.train.optimizer.schedule.name "warmupSteps" (int64 $values.train.optimizer.schedule.warmupSteps) -}}
{{- with $values.train.optimizer.schedule.decaySteps -}}{{- $_ := set $schedule "decaySteps" (int64 .) -}}{{- end -}}
{{- if not (kindIs "invalid" $values.train.optimizer.schedule.endFactor) -}}
{{- $_ := set $schedule "endFactor" $values.train.optimizer.schedule.endFactor -}}
{{- end -}}
{{- if or (ne $schedule.name "constant") $schedule.warmupSteps -}}{{- $_ := set $optimizer "schedule" $schedule -}}{{- end -}}
{{- $checkpoint := dict "seconds" $values.train.checkpoint.seconds "keep" (int64 $values.train.checkpoint.keep) -}}
{{- with $values.train.checkpoint.steps -}}{{- $_ := set $checkpoint "steps" (int64 .) -}}{{- end -}}
{{- $train := dict
  "steps" (int64 $values.train.steps)
  "batchSize" (int64 $values.train.batchSize)
  "microBatches" (int64 $values.train.microBatches)
  "seed" (int64 $values.train.seed)
  "precision" $values.train.precision
  "xla" $values.train.xla
  "optimizer" $optimizer
  "checkpoint" $checkpoint
  "reportSeconds" $values.train.reportSeconds -}}
{{- with $values.train.stepsPerCall -}}{{- $_ := set $train "stepsPerCall" (int64 .) -}}{{- end -}}
{{- dict
  "version" 1
  "run" $run
  "program" $program
  "strategy" $values.strategy
  "replication" $values.replication
  "update" $values.update
  "train" $train
  "flags" ($values.flags | default dict)
  "dirs" (dict "data" "/data" "log" "/log")
  "peers" (dict "deadlineSeconds" $values.peers.deadlineSeconds)
  "failure" (dict "restarts" (int64 $values.failure.restarts) "finalStateSeconds" $values.failure.finalStateSeconds)
  | toPrettyJson -}}
{{- end -}}

{{- /* program.source of training.json. Without a source it is an empty object. */ -}}
{{- define "tf-cluster.config.source" -}}
{{- $source := (.Values.program.source | default dict) -}}
{{- if $source.files -}}
{{- dict "files" $source.files | toJson -}}
{{- else if $source.url -}}
{{- dict "url" $source.url "sha256" $source.sha256 | toJson -}}
{{- else if $source.git -}}
{{- dict "git" $source.git "commit" $source.commit | toJson -}}
{{- else -}}
{}
{{- end -}}
{{- end -}}

{{- /* The ConfigMap of the tasks. */ -}}
{{- define "tf-cluster.config.name" -}}
{{- include "tf-cluster.attempt.name" (list "config" .) -}}
{{- end -}}
