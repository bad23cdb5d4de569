{{- /* Not in NOTES.txt itself, so that an umbrella chart can show it, too. */ -}}
{{- define "tf-serving.notes" }}
{{- $name := include "tf-serving.fullname" . }}
{{- $kubectl := printf "kubectl --namespace %s" .Release.Namespace }}
{{- $domain := printf "%s.svc.%s" .Release.Namespace .Values.clusterDomain }}
{{- $models := include "tf-serving.models" . | fromJsonArray }}
{{- $one := (first $models).name }}
{{ $name }} serves {{ keys .Values.models | sortAlpha | join ", " }}.

1. Wait until the models are loaded. What keeps them from it is said here:

    {{ $kubectl }} rollout status deployment/{{ $name }}
    {{ $kubectl }} describe pods --selector tf-cluster.io/serving={{ $name }}

2. Ask which versions are loaded, while the first of these runs, and what they take and give:

    {{ $kubectl }} port-forward service/{{ $name }} 8501:{{ int64 .Values.service.ports.http }}
    curl http://localhost:8501/v1/models/{{ $one }}
    curl http://localhost:8501/v1/models/{{ $one }}/metadata

3. In the cluster it is, for REST and for gRPC:

    http://{{ $name }}.{{ $domain }}:{{ int64 .Values.service.ports.http }}/v1/models/{{ $one }}:predict
    dns:///{{ $name }}-pods.{{ $domain }}:8500 with round_robin, which finds all pods
{{- if ne .Values.service.type "ClusterIP" }}

   and outside of it:

    {{ $kubectl }} get service {{ $name }}
{{- end }}
{{- $policy := .Values.security.networkPolicy }}
{{- if and $policy.enabled (or (eq .Values.service.type "ClusterIP") (kindIs "slice" $policy.allowFrom)) }}

   Pods of this namespace need the label tf-cluster.io/serving-client: {{ $name }}. Others: security.networkPolicy.allowFrom.
{{- end }}
{{- range $models }}
{{- if and (not .policy.specific) (ne .claim "") (not (and (eq .kind "run") (hasSuffix "/best" .path))) }}

{{ .name }} takes the newest of {{ .base }}. One that can't be loaded leaves the pods that run as they are, and keeps every new
pod from starting: put there only what `tf-cluster publish` has looked at, or take policy specific.
{{- end }}
{{- if and .labels $.Release.IsUpgrade }}

A label of {{ .name }} that moves has to find its version loaded: else the servers refuse this list of models, and each later
one, until it is put back. Load first, and move the label in the next upgrade, as `tf-cluster promote` does.
{{- end }}
{{- if and .labels .policy.latest }}

{{ .name }} has labels for {{ values .labels | uniq | join ", " }}, which its policy unloads when newer versions come: take policy specific.
{{- end }}
{{- end }}
{{- if include "tf-serving.colocate" . }}

All pods share one node, since storage.accessModes is [{{ join ", " .Values.storage.accessModes }}].
{{- end }}
{{- if and .Values.autoscaling.enabled .Values.autoscaling.targetCPUUtilizationPercentage }}

The autoscaler needs metrics-server. This says whether it has what it needs:

    {{ $kubectl }} describe hpa {{ $name }}
{{- end }}
{{- end -}}
