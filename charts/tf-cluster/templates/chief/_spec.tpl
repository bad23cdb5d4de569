{{- define "tf-cluster.chief.spec" -}}
{{- $name := include "tf-cluster.chief.name" . -}}
backoffLimit: {{ int64 .root.Values.chief.backoffLimit }}
podFailurePolicy:
  {{- include "tf-cluster.podFailurePolicy" . | nindent 2 }}
template:
  {{- include "tf-cluster.pod" (merge (dict "hostname" $name) .) | nindent 2 }}
{{- end -}}

{{- /* The chief's Job, and its pod's hostname. */ -}}
{{- define "tf-cluster.chief.name" -}}
{{- include "tf-cluster.attempt.name" (list "chief" .) -}}
{{- end -}}
