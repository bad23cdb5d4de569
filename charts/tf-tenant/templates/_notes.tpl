{{- /* Not in NOTES.txt itself, so that an umbrella chart can show it, too. */ -}}
{{- define "tf-tenant.notes" }}
{{- $namespace := include "tf-tenant.namespace" . }}
{{- $people := dict "tf-user" .Values.members "tf-viewer" .Values.viewers }}
The tenant {{ $namespace }}:
{{- range $role, $list := $people }}
  {{ $role }}: {{ join ", " (concat $list.users $list.groups) }}
  {{- range $list.accounts }} {{ .namespace }}/{{ .name }}{{ end }}
  {{- if not (or $list.users $list.groups $list.accounts) }}nobody{{ end }}
{{- end }}
{{- if not .Values.namespace.create }}

The namespace is not of this release. It should enforce Pod Security:

    kubectl label namespace {{ $namespace }} pod-security.kubernetes.io/enforce={{ .Values.namespace.podSecurity }}
{{- end }}
{{- if not .Values.network.enabled }}

No NetworkPolicy: every pod of the cluster reaches the pods of {{ $namespace }}.
{{- end }}
{{- with .Values.defaultAccount.pullSecrets }}

Images are pulled by these Secrets, which have to be there:

    kubectl --namespace {{ $namespace }} get secret {{ join " " . }}
{{- end }}

    kubectl --namespace {{ $namespace }} get resourcequota,limitrange,rolebinding,networkpolicy
{{- end -}}
