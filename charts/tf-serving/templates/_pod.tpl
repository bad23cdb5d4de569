{{- /* The spec of the pods. */ -}}
{{- define "tf-serving.pod" -}}
{{- $pod := .Values.pod -}}
{{- $server := .Values.server -}}
{{- $tools := dict "imagePullPolicy" .Values.image.pullPolicy "resources" .Values.tools.resources -}}
{{- $tools = merge $tools (dict "terminationMessagePolicy" "FallbackToLogsOnError" "securityContext" $pod.containerSecurityContext) -}}
{{- $mounts := include "tf-serving.mounts" . | fromYamlArray -}}
{{- $gpu := or .Values.resources.claims (toJson .Values.resources.limits | regexMatch "nvidia\\.com/(gpu|mig-)") -}}
{{- $tag := .Values.image.tag | default (print .Chart.AppVersion (empty $gpu | ternary "" "-gpu")) -}}
{{- $image := include "tf-serving.image" (list . (set (deepCopy .Values.image) "tag" $tag)) -}}
{{- $secrets := list -}}
{{- range concat .Values.image.pullSecrets ((.Values.global | default dict).imagePullSecrets | default list) -}}
{{- $secrets = append $secrets (kindIs "string" . | ternary (dict "name" .) .) -}}
{{- end -}}
serviceAccountName: {{ .Values.serviceAccount.name | default "default" | quote }}
automountServiceAccountToken: false
enableServiceLinks: false
terminationGracePeriodSeconds: {{ int64 $server.terminationGracePeriodSeconds }}
imagePullSecrets: {{ uniq $secrets | toJson }}
{{- $fields := pick $pod "priorityClassName" "schedulerName" "runtimeClassName" "nodeSelector" "tolerations" "topologySpreadConstraints" }}
{{- with merge (pick $pod "resourceClaims") $fields | include "tf-serving.said" | fromJson }}
{{ toYaml . }}
{{- end }}
affinity: {{ merge (include "tf-serving.near" . | fromYaml) $pod.affinity | toJson }}
securityContext: {{ toJson .Values.security.podSecurityContext }}
initContainers:
  {{- range include "tf-serving.models" . | fromJsonArray }}
  {{- if eq .claim "" }}
  {{- $copy := list "cp" "-R" (printf "%s/." (trimSuffix "/" .path)) .base }}
  {{- $what := list .source.address .source.sha256 .base (printf "models.%s.source.url" .name) }}
  {{- $trainer := merge (deepCopy $.Values.tools.image) (dict "tag" $.Chart.Version) }}
  {{- $from := ternary (dict "repository" .source.reference) $trainer (eq .kind "image") }}
  - name: bring-{{ sha256sum .name | trunc 8 }}
    image: {{ include "tf-serving.image" (list $ $from) | quote }}
    command: {{ ternary $copy (concat (list "python" "-m" "tf_cluster_trainer.sources.model") $what) (eq .kind "image") | toJson }}
    env: {{ toJson $pod.extraEnv }}
    volumeMounts: [{name: models, mountPath: {{ .base | quote }}, subPath: {{ .name | quote }}}, {name: tmp, mountPath: /tmp}]
    {{- toYaml $tools | nindent 4 }}
  {{- end }}
  {{- end }}
  # A server whose model is not there opens no port, and never says why.
  - name: check
    image: {{ $image | quote }}
    command: [sh, /etc/tf-serving/check.sh, /etc/tf-serving/paths]
    volumeMounts: {{ toJson $mounts }}
    {{- toYaml $tools | nindent 4 }}
containers:
  - name: serving
    image: {{ $image | quote }}
    imagePullPolicy: {{ .Values.image.pullPolicy }}
    command: [/usr/bin/tensorflow_model_server]
    args:
      {{- include "tf-serving.flags" . | nindent 6 }}
    env: {{ toJson $pod.extraEnv }}
    envFrom: {{ toJson ($pod.envFrom | default list) }}
    ports: [{name: grpc, containerPort: 8500}, {name: http, containerPort: 8501}]
    # The ports open when all models are loaded.
    startupProbe: {tcpSocket: {port: grpc}, periodSeconds: 5, failureThreshold: {{ divf $server.startSeconds 5 | ceil | int64 }}}
    {{- $model := $server.readinessModel | default (keys .Values.models | sortAlpha | first) }}
    readinessProbe: {httpGet: {path: /v1/models/{{ $model }}, port: http}, periodSeconds: 5, timeoutSeconds: 5}
    livenessProbe: {tcpSocket: {port: grpc}, periodSeconds: 10, timeoutSeconds: 5, failureThreshold: 6}
    lifecycle: {preStop: {exec: {command: [sleep, {{ int64 $server.preStopSeconds | quote }}]}}}
    resources: {{ toJson .Values.resources }}
    terminationMessagePolicy: FallbackToLogsOnError
    securityContext: {{ toJson $pod.containerSecurityContext }}
    volumeMounts: {{ concat $mounts $pod.extraVolumeMounts | toJson }}
volumes:
  - {name: tmp, emptyDir: {{ empty $pod.tmpSize | ternary dict (dict "sizeLimit" $pod.tmpSize) | toJson }}}
  - {name: models, emptyDir: {}}
  - {name: config, configMap: {name: {{ include "tf-serving.fullname" . }}-config}}
  {{- range $index, $claim := include "tf-serving.claims" . | fromJsonArray }}
  - {name: claim-{{ $index }}, persistentVolumeClaim: {claimName: {{ $claim | quote }}}}
  {{- end }}
  {{- with $pod.extraVolumes }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{- /* Where the server's volumes are, as a YAML list. Never by subPath, which would keep files as they were at the start. */ -}}
{{- define "tf-serving.mounts" -}}
- {name: tmp, mountPath: /tmp}
- {name: models, mountPath: /models, readOnly: true}
- {name: config, mountPath: /etc/tf-serving, readOnly: true}
{{- range $index, $claim := include "tf-serving.claims" . | fromJsonArray }}
- {name: claim-{{ $index }}, mountPath: /claims/{{ $claim }}, readOnly: true}
{{- end }}
{{- end -}}

{{- /* The server's flags, as a YAML list. */ -}}
{{- define "tf-serving.flags" -}}
{{- $server := .Values.server -}}
{{- $cpus := include "tf-serving.cpus" .Values.resources | int64 -}}
{{- $threads := dict "intra" ($server.intraOpThreads | default $cpus) "inter" ($server.interOpThreads | default $cpus) -}}
- --port=8500
- --rest_api_port=8501
- --model_config_file=/etc/tf-serving/models.config
- --model_config_file_poll_wait_seconds={{ int64 $server.configPollSeconds }}
- --file_system_poll_wait_seconds={{ int64 $server.versionPollSeconds }}
- --allow_version_labels_for_unavailable_models=true
- --grpc_channel_arguments=grpc.max_connection_age_ms={{ mul (int64 $server.maxConnectionAgeSeconds) 1000 }}
{{- range $kind, $count := $threads }}{{ if $count }}
- --tensorflow_{{ $kind }}_op_parallelism={{ int64 $count }}
{{- end }}{{ end }}
{{- if .Values.batching.enabled }}
- --enable_batching=true
- --batching_parameters_file=/etc/tf-serving/batching.config
{{- end }}
{{- if .Values.monitoring.enabled }}
- --monitoring_config_file=/etc/tf-serving/monitoring.config
{{- end }}
{{- range $server.extraArgs }}{{ printf "\n- %q" . }}{{ end }}
{{- end -}}

{{- /*
The affinity that keeps the pods beside who else mounts the claims, with storage.colocate. The first pod matches its own
rule, which Kubernetes lets pass when no other pod matches it.
*/ -}}
{{- define "tf-serving.near" -}}
{{- $releases := prepend .Values.storage.besideReleases .Release.Name -}}
{{- range include "tf-serving.models" . | fromJsonArray }}{{ $releases = append $releases .source.release }}{{ end -}}
{{- if include "tf-serving.colocate" . -}}
podAffinity:
  requiredDuringSchedulingIgnoredDuringExecution:
    - topologyKey: kubernetes.io/hostname
      labelSelector:
        matchExpressions:
          - {key: app.kubernetes.io/instance, operator: In, values: {{ compact $releases | uniq | toJson }}}
          - {key: app.kubernetes.io/component, operator: In, values: [chief, worker, evaluator, tensorboard, notebook, serving]}
{{- end -}}
{{- end -}}
