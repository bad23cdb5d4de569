{{- define "tf-cluster.chief.spec" -}}
{{- $name := include "tf-cluster.attempt.name" (merge (dict "kind" "chief") .) -}}
backoffLimit: {{ int64 .root.Values.chief.backoffLimit }}
podFailurePolicy:
  {{- include "tf-cluster.podFailurePolicy" . | nindent 2 }}
template:
  {{- include "tf-cluster.pod" (merge (dict "hostname" $name) .) | nindent 2 }}
{{- end -}}
