{{- define "tf-cluster.chief.spec" -}}
backoffLimit: {{ int64 .root.Values.chief.backoffLimit }}
podFailurePolicy:
  {{- include "tf-cluster.podFailurePolicy" . | nindent 2 }}
template:
  {{- include "tf-cluster.pod" (merge (dict "hostname" .names.chief) .) | nindent 2 }}
{{- end -}}
