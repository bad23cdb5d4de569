{{- define "tf-cluster.ps.spec" -}}
{{- $name := replace "{}" (print .index) .names.anyPs -}}
{{- $wait := int64 .root.Values.ps.preStopSeconds -}}
strategy:
  type: Recreate
{{- /* A ps that waits for a node is no failure before the chief gives up. */}}
progressDeadlineSeconds: {{ ceil .root.Values.peers.deadlineSeconds | max 600 | int64 }}
selector:
  matchLabels:
    {{- include "tf-cluster.pod.labels" . | nindent 4 }}
template:
  {{- include "tf-cluster.pod" (merge (dict "hostname" $name "preStopSeconds" $wait) .) | nindent 2 }}
{{- end -}}

{{- /* The number of parameter servers: all-reduce has none. */ -}}
{{- define "tf-cluster.ps.count" -}}
{{- if (include "tf-cluster.combination" . | fromJson).hasPs }}{{ int .Values.ps.replicas }}{{ else }}0{{ end -}}
{{- end -}}

{{- /* "true" when the parameter servers run the user's script, not TensorFlow's server alone. */ -}}
{{- define "tf-cluster.ps.runScript" -}}
{{- if and .Values.program.script (eq .Values.program.ps "script") }}true{{ end -}}
{{- end -}}

{{- /* "true" when the parameter servers mount a claim, for either reason. */ -}}
{{- define "tf-cluster.ps.mountsClaims" -}}
{{- if or (include "tf-cluster.ps.runScript" .) (include "tf-cluster.ps.mountsLog" .) }}true{{ end -}}
{{- end -}}

{{- /*
"true" when the parameter servers mount /log to write checkpoints themselves. By default where that needs no common
node, and where the trainer's own program runs.
*/ -}}
{{- define "tf-cluster.ps.mountsLog" -}}
{{- $asked := toString .Values.ps.logVolume -}}
{{- $shared := has "ReadWriteMany" (.Values.storage.log.accessModes | default list) -}}
{{- $auto := and $shared .Values.program.module (not .Values.interactive.enabled) (not (include "tf-cluster.colocate" .)) -}}
{{- if and (int (include "tf-cluster.ps.count" .)) (or (eq $asked "true") (and $auto (ne $asked "false"))) }}true{{ end -}}
{{- end -}}
