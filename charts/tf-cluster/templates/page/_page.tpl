{{- /* The rows of the roles that serve a page and are switched on, as JSON. "tf-cluster.NAME.page" is what its pod has of its own. */ -}}
{{- define "tf-cluster.pages" -}}
{{- $rows := list -}}
{{- range $role := include "tf-cluster.roles" . | fromJsonArray -}}
{{- if and $role.page (get $.Values $role.name | default dict).enabled -}}{{- $rows = append $rows $role -}}{{- end -}}
{{- end -}}{{- toJson $rows -}}
{{- end -}}

{{- /*
"true" where a page's policy lets anybody in: those who are named, or, where nothing is said, everybody at a NodePort.
Takes the role's values.
*/ -}}
{{- define "tf-cluster.page.isOpen" -}}
{{- if or .allowFrom (and (kindIs "invalid" .allowFrom) (eq .service.type "NodePort")) }}true{{ end -}}
{{- end -}}
