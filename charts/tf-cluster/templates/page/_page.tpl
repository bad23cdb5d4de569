{{- /*
The rows of the roles that serve a page and are switched on, as JSON. A role's folder has "tf-cluster.NAME.page": what
its pod passes to "tf-cluster.pod". Its values have enabled, pathPrefix, service, allowFrom, ingress and httpRoute. */ -}}
{{- define "tf-cluster.pages" -}}
{{- $rows := list -}}
{{- range $role := include "tf-cluster.roles" . | fromJsonArray -}}
{{- if and $role.page (get $.Values $role.name | default dict).enabled -}}{{- $rows = append $rows $role -}}{{- end -}}
{{- end -}}
{{- toJson $rows -}}
{{- end -}}
