{{- define "tf-cluster.ps.spec" -}}
{{- $name := include "tf-cluster.ps.name" . -}}
{{- $wait := int64 .root.Values.ps.preStopSeconds -}}
strategy:
  type: Recreate
selector:
  matchLabels:
    {{- include "tf-cluster.pod.labels" . | nindent 4 }}
template:
  {{- include "tf-cluster.pod" (merge (dict "hostname" $name "preStopSeconds" $wait) .) | nindent 2 }}
{{- end -}}

{{- /* The Deployment of a parameter server, and its pod's hostname. The index may be {}, which stands for any. */ -}}
{{- define "tf-cluster.ps.name" -}}
{{- printf "%s-ps-%v-%s" (include "tf-cluster.fullname" .root) .index .attempt -}}
{{- end -}}

{{- /* The names of all parameter servers, joined by blanks. Takes root, attempt. */ -}}
{{- define "tf-cluster.ps.names" -}}
{{- range $index := until (include "tf-cluster.ps.count" .root | int) -}}
{{- if $index }} {{ end }}
{{- include "tf-cluster.ps.name" (dict "root" $.root "attempt" $.attempt "index" $index) -}}
{{- end -}}
{{- end -}}

{{- /* The number of parameter servers: all-reduce has none. */ -}}
{{- define "tf-cluster.ps.count" -}}
{{- if (include "tf-cluster.combination" . | fromJson).hasPs }}{{ int .Values.ps.replicas }}{{ else }}0{{ end -}}
{{- end -}}

{{- /* "true" when the parameter servers run the user's script, not TensorFlow's server alone. */ -}}
{{- define "tf-cluster.ps.runScript" -}}
{{- if and .Values.program.script (eq .Values.program.ps "script") }}true{{ end -}}
{{- end -}}
