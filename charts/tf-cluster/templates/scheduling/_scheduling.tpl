{{- /*
Providers of gangs, a row each: the API that their PodGroup is of, the scheduler that most people install, and by which
label or annotation of theirs pods say whose members they are.
*/ -}}
{{- define "tf-cluster.gang.providers" -}}
{"coscheduling": {"api": "scheduling.x-k8s.io/v1alpha1", "scheduler": "scheduler-plugins-scheduler",
                  "label": "scheduling.x-k8s.io/pod-group"},
 "volcano": {"api": "scheduling.volcano.sh/v1beta1", "scheduler": "volcano",
             "annotation": "scheduling.k8s.io/group-name"}}
{{- end -}}

{{- /* The row of the provider that was asked for, with the scheduler's name as the values say it; {} for none. */ -}}
{{- define "tf-cluster.gang" -}}
{{- $row := get (include "tf-cluster.gang.providers" . | fromJson) .Values.scheduling.gang.provider | default dict -}}
{{- if $row -}}{{- $_ := set $row "scheduler" (.Values.scheduling.gang.schedulerName | default $row.scheduler) -}}{{- end -}}
{{- toJson $row -}}
{{- end -}}

{{- /* How many tasks a training can't do without. */ -}}
{{- define "tf-cluster.gang.size" -}}
{{- $chief := ternary 1 0 (eq (include "tf-cluster.client" .) "chief") -}}
{{- add $chief (int64 .Values.worker.replicas) (include "tf-cluster.ps.count" . | int64) -}}
{{- end -}}

{{- /* What makes a pod a member of its attempt's gang, as JSON: labels, annotations and schedulerName; or {}. */ -}}
{{- define "tf-cluster.gang.membership" -}}
{{- $gang := include "tf-cluster.gang" .root | fromJson -}}
{{- $membership := dict -}}
{{- if and $gang.api .role.trains -}}
{{- $_ := set $membership "schedulerName" $gang.scheduler -}}
{{- with $gang.label -}}{{- $_ := set $membership "labels" (dict . $.names.service) -}}{{- end -}}
{{- with $gang.annotation -}}{{- $_ := set $membership "annotations" (dict . $.names.service) -}}{{- end -}}
{{- end -}}
{{- toJson $membership -}}
{{- end -}}

{{- /*
The user's rules of spreading and that of `scheduling`, as a JSON list. With placement spread it spreads the role's pods
over nodes. Where pods shall be drawn together it is one that every node meets: without any rule Kubernetes' scheduler
spreads pods of a Service, which weighs as much as their wish.
*/ -}}
{{- define "tf-cluster.spread" -}}
{{- $rules := .pod.topologySpreadConstraints | default list -}}
{{- $scheduling := .root.Values.scheduling -}}
{{- $keys := list -}}
{{- range $rules -}}{{- $keys = append $keys (printf "%s %s" .topologyKey .whenUnsatisfiable) -}}{{- end -}}
{{- $key := "" -}}
{{- if and .role.trains (eq $scheduling.placement "spread") -}}
{{- $key = ternary "" "kubernetes.io/hostname" (has "kubernetes.io/hostname ScheduleAnyway" $keys) -}}
{{- else if and .role.trains (empty $rules) (or $scheduling.psNearWorkers (eq $scheduling.placement "binpack")) -}}
{{- $key = "kubernetes.io/os" -}}
{{- end -}}
{{- with $key -}}
{{- $selector := include "tf-cluster.membersOf" (list $ (list $.role.name)) | fromYaml -}}
{{- $rule := dict "topologyKey" . "whenUnsatisfiable" "ScheduleAnyway" "maxSkew" 1 "labelSelector" $selector -}}
{{- $rules = append $rules $rule -}}
{{- end -}}
{{- toJson $rules -}}
{{- end -}}

{{- /* The pods that a pod would like to share a node with, as a JSON list of weighted terms. */ -}}
{{- define "tf-cluster.neighbours" -}}
{{- $roles := list -}}
{{- if and .role.near .root.Values.scheduling.psNearWorkers -}}{{- $roles = list .role.near -}}{{- end -}}
{{- if and .role.trains (eq .root.Values.scheduling.placement "binpack") -}}
{{- $roles = list -}}
{{- range include "tf-cluster.roles" . | fromJsonArray -}}
{{- if .trains -}}{{- $roles = append $roles .name -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- $terms := list -}}
{{- if $roles -}}
{{- $term := dict "topologyKey" "kubernetes.io/hostname" -}}
{{- $_ := set $term "labelSelector" (include "tf-cluster.membersOf" (list . $roles) | fromYaml) -}}
{{- $terms = list (dict "weight" 100 "podAffinityTerm" $term) -}}
{{- end -}}
{{- toJson $terms -}}
{{- end -}}

{{- /* A selector of the attempt's pods of some roles. Takes a list: the context and the roles' names. */ -}}
{{- define "tf-cluster.membersOf" -}}
matchLabels:
  {{- include "tf-cluster.attempt.tasks" (first .) | nindent 2 }}
matchExpressions:
  - key: app.kubernetes.io/component
    operator: In
    values: {{ toJson (last .) }}
{{- end -}}
