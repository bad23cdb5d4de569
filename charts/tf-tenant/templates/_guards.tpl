{{- /* Complaints that a schema can't make in plain words, all at once. Every object's file includes this first. */ -}}
{{- define "tf-tenant.guards" -}}
{{- $complaints := list -}}
{{- range $guard := list "namespace" "existing" "people" "quota" "nothing" -}}
{{- with include (printf "tf-tenant.guards.%s" $guard) $ | trim -}}{{- $complaints = append $complaints . -}}{{- end -}}
{{- end -}}
{{- if not .Values.enabled -}}
{{- $complaints = append $complaints "enabled is false: only an umbrella chart can leave this chart out." -}}
{{- end -}}
{{- $at := .Chart.IsRoot | ternary "" "tf-tenant." -}}
{{- $sections := "namespace|members|viewers|rights|clusterReader|quota|limitRange|network|defaultAccount" -}}
{{- with join "\n\n" $complaints -}}
{{- regexReplaceAll (printf "(^|[ \n])(%s)\\." $sections) . (printf "${1}%s${2}." $at) | printf "\n\n%s\n" | fail -}}
{{- end -}}
{{- end -}}

{{- define "tf-tenant.guards.namespace" -}}
{{- $name := include "tf-tenant.namespace" . }}
{{- if not (regexMatch "^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$" $name) }}
namespace.name is empty, and the release's name, {{ $name }}, can't be a namespace's: set namespace.name.
{{- end }}
{{- if or (eq $name "default") (hasPrefix "kube-" $name) }}
namespace.name would be {{ $name }}, which is Kubernetes' own: a tenant's quota and policies would hold its parts. Take another.
{{- else if eq $name .Release.Namespace }}
namespace.name would be {{ $name }}, where Helm keeps the record of this release: members could change it, and so their rights.
Install it from a namespace of the administrators: helm install {{ .Release.Name }} --namespace tenants --create-namespace …
{{- end }}
{{- range $key := keys .Values.namespace.labels | sortAlpha }}
{{- if hasPrefix "pod-security.kubernetes.io/" $key }}
namespace.labels has {{ $key }}: namespace.podSecurity sets it.
{{- end }}
{{- end }}
{{- end -}}

{{- define "tf-tenant.guards.existing" -}}
{{- if not .Values.namespace.create }}
{{- range $key := list "labels" "annotations" }}
{{- if get $.Values.namespace $key }}
namespace.{{ $key }} would do nothing, since namespace.create is false: remove one of the two.
{{- end }}
{{- end }}
{{- end }}
{{- if and (not .Values.defaultAccount.manage) .Values.defaultAccount.pullSecrets }}
defaultAccount.pullSecrets would do nothing, since defaultAccount.manage is false: remove one of the two.
{{- end }}
{{- end -}}

{{- define "tf-tenant.guards.people" -}}
{{- $everybody := list "system:authenticated" "system:unauthenticated" "system:serviceaccounts" "system:anonymous" }}
{{- range $section := list "members" "viewers" }}
{{- range $key := list "users" "groups" }}
{{- range get (get $.Values $section) $key }}
{{- if has . $everybody }}
{{ $section }}.{{ $key }} has {{ . }}, which is everybody: name those that are meant.
{{- else if hasPrefix "system:serviceaccount:" . }}
{{ $section }}.{{ $key }} has {{ . }}: name it in {{ $section }}.accounts.
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- if and .Values.clusterReader.pods (not .Values.clusterReader.enabled) }}
clusterReader.pods would do nothing, since clusterReader.enabled is false: remove one of the two.
{{- end }}
{{- end -}}

{{- /* With a quota, Kubernetes refuses each pod that does not say what the quota counts. */ -}}
{{- define "tf-tenant.guards.quota" -}}
{{- $hard := include "tf-tenant.hard" . | fromJson }}
{{- $range := .Values.limitRange }}
{{- $given := dict "requests" (list "defaultRequest" "default" "max") "limits" (list "default" "max") }}
{{- $values := dict "requests.cpu" "cpu" "requests.memory" "memory" "limits.cpu" "limitsCpu" "limits.memory" "limitsMemory" }}
{{- if .Values.quota.enabled }}
{{- range $name, $value := $values }}
{{- $kind := splitList "." $name | first }}
{{- $resource := splitList "." $name | last }}
{{- $has := false }}
{{- range $field := get $given $kind }}
{{- $amounts := include "tf-tenant.amounts" (get $range.container $field) | fromJson }}
{{- if and $range.enabled (hasKey $amounts $resource) }}{{ $has = true }}{{ end }}
{{- end }}
{{- if and (hasKey $hard $name) (not $has) }}
quota.{{ $value }} is set, so Kubernetes refuses every pod without {{ $name }}: set limitRange.container.{{ get $given $kind | first }}.
{{- $resource }}{{ if not $range.enabled }} and limitRange.enabled{{ end }}.
{{- end }}
{{- end }}
{{- $named := include "tf-tenant.named" . | fromJson }}
{{- range $name, $amount := .Values.quota.more }}
{{- if hasKey $named $name }}
quota.more has {{ $name }}, which another value of quota says: set that one.
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "tf-tenant.guards.nothing" -}}
{{- if not .Values.network.enabled }}
{{- range $key := list "ingress" "egress" }}
{{- if get $.Values.network $key }}
network.{{ $key }} would do nothing, since network.enabled is false: remove one of the two.
{{- end }}
{{- end }}
{{- end }}
{{- end -}}
