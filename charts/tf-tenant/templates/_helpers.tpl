{{- /* The tenant's namespace. */ -}}
{{- define "tf-tenant.namespace" -}}
{{- .Values.namespace.name | default .Release.Name -}}
{{- end -}}

{{- /* apiVersion, kind and metadata of an object. Takes root, api, kind, name, annotations. */ -}}
{{- define "tf-tenant.object" -}}
{{- $isGlobal := has .kind (list "Namespace" "ClusterRole" "ClusterRoleBinding") -}}
apiVersion: {{ .api }}
kind: {{ .kind }}
metadata:
  name: {{ .name | quote }}
  {{- if not $isGlobal }}
  namespace: {{ include "tf-tenant.namespace" .root | quote }}
  {{- end }}
  labels:
    {{- $own := dict
      "app.kubernetes.io/name" "tf-tenant"
      "app.kubernetes.io/instance" .root.Release.Name
      "app.kubernetes.io/version" .root.Chart.AppVersion
      "app.kubernetes.io/managed-by" .root.Release.Service
      "helm.sh/chart" (printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_")
      "tf-cluster.io/tenant" (include "tf-tenant.namespace" .root) }}
    {{- merge (dict) (.labels | default dict) .root.Values.commonLabels $own | toYaml | nindent 4 }}
  {{- with merge (dict) (.annotations | default dict) .root.Values.commonAnnotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}

{{- /* Annotations of what Helm and Argo CD leave in place, as JSON: what holds data, and the account. */ -}}
{{- define "tf-tenant.kept" -}}
{{- dict "helm.sh/resource-policy" "keep" "argocd.argoproj.io/sync-options" "Prune=false,Delete=false" | toJson -}}
{{- end -}}

{{- /* The claims by name, each laid over the defaults, as JSON. */ -}}
{{- define "tf-tenant.claims" -}}
{{- $claims := dict -}}
{{- range $name, $given := .Values.claims -}}
{{- $_ := set $claims $name (mergeOverwrite (deepCopy $.Values.claim) $given) -}}
{{- end -}}
{{- toJson $claims -}}
{{- end -}}

{{- /* Amounts by resource, without those that are empty, as JSON: all of it texts. */ -}}
{{- define "tf-tenant.amounts" -}}
{{- $amounts := dict -}}
{{- range $name, $amount := . -}}
{{- if not (or (kindIs "invalid" $amount) (eq (toString $amount) "")) -}}
{{- if kindIs "float64" $amount -}}{{- $amount = ternary (int64 $amount) $amount (eq $amount (floor $amount)) -}}{{- end -}}
{{- $_ := set $amounts $name (toString $amount) -}}
{{- end -}}
{{- end -}}
{{- toJson $amounts -}}
{{- end -}}

{{- /* What the quota limits, by Kubernetes' names, as JSON. */ -}}
{{- define "tf-tenant.hard" -}}
{{- include "tf-tenant.amounts" (include "tf-tenant.named" . | fromJson) -}}
{{- end -}}

{{- /* The same with what is empty, and so not limited. */ -}}
{{- define "tf-tenant.named" -}}
{{- $quota := .Values.quota -}}
{{- $hard := dict
  "requests.cpu" $quota.cpu
  "requests.memory" $quota.memory
  "limits.cpu" $quota.limitsCpu
  "limits.memory" $quota.limitsMemory
  "pods" $quota.pods
  "count/jobs.batch" $quota.jobs
  "persistentvolumeclaims" $quota.claims
  "requests.storage" $quota.storage
  "services.nodeports" $quota.nodePorts
  "services.loadbalancers" $quota.loadBalancers -}}
{{- range $name, $amount := $quota.gpus -}}{{- $_ := set $hard (print "requests." $name) $amount -}}{{- end -}}
{{- range $name, $amount := $quota.storageClasses -}}
{{- $_ := set $hard (print $name ".storageclass.storage.k8s.io/requests.storage") $amount -}}
{{- end -}}
{{- toJson $hard -}}
{{- end -}}

{{- /* The subjects of a binding, as a YAML list. Takes users, groups and accounts. */ -}}
{{- define "tf-tenant.subjects" -}}
{{- $group := "rbac.authorization.k8s.io" -}}
{{- $subjects := list -}}
{{- range .users }}{{ $subjects = append $subjects (dict "kind" "User" "apiGroup" $group "name" .) }}{{ end -}}
{{- range .groups }}{{ $subjects = append $subjects (dict "kind" "Group" "apiGroup" $group "name" .) }}{{ end -}}
{{- range .accounts }}{{ $subjects = append $subjects (merge (dict "kind" "ServiceAccount") .) }}{{ end -}}
{{- with $subjects }}{{ toYaml . }}{{ end -}}
{{- end -}}

{{- /* What tf-user may make where a value says so: apiGroups and resources of rules, as a JSON list. */ -}}
{{- define "tf-tenant.optional" -}}
{{- $rights := .Values.rights -}}
{{- $rules := list -}}
{{- if $rights.podGroups -}}
{{- $rules = append $rules (dict "apiGroups" (list "scheduling.x-k8s.io" "scheduling.volcano.sh") "resources" (list "podgroups")) -}}
{{- end -}}
{{- if $rights.monitoring -}}
{{- $rules = append $rules (dict "apiGroups" (list "monitoring.coreos.com") "resources" (list "podmonitors" "prometheusrules")) -}}
{{- end -}}
{{- if $rights.ingresses -}}
{{- $rules = append $rules (dict "apiGroups" (list "networking.k8s.io") "resources" (list "ingresses")) -}}
{{- end -}}
{{- if $rights.httpRoutes -}}
{{- $rules = append $rules (dict "apiGroups" (list "gateway.networking.k8s.io") "resources" (list "httproutes")) -}}
{{- end -}}
{{- if $rights.serving -}}
{{- $rules = append $rules (dict "apiGroups" (list "autoscaling") "resources" (list "horizontalpodautoscalers")) -}}
{{- $rules = append $rules (dict "apiGroups" (list "policy") "resources" (list "poddisruptionbudgets")) -}}
{{- end -}}
{{- toJson $rules -}}
{{- end -}}
