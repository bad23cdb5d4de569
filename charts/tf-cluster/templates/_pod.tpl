{{- /*
The pod template of every role, one place for what all pods have in common. Takes the context of
CONTRIBUTING.md (rooms of the chart) and, where they apply:

    hostname        the pod's own host name (an Indexed Job gives its pods theirs)
    graceSeconds    between SIGTERM and SIGKILL, where it is not what the role's values say
    preStopSeconds  how long the container serves on before it gets SIGTERM
    serviceAccount  the account whose token is mounted; without it there is no token
    args            the container's arguments
    mounts          entries of "tf-cluster.pod.mounts" that this pod alone has: each {name, mount, volume}
*/ -}}
{{- define "tf-cluster.pod" -}}
{{- $pod := include "tf-cluster.podValues" . | fromJson -}}
{{- $context := merge (dict "pod" $pod) . -}}
{{- $gang := include "tf-cluster.gang.membership" . | fromJson -}}
{{- $_ := set $pod "schedulerName" ($gang.schedulerName | default $pod.schedulerName) -}}
{{- range $key, $field := dict "labels" "podLabels" "annotations" "podAnnotations" -}}
{{- $_ := set $pod $field (include "tf-cluster.laidOver" (list (get $gang $key) (get $pod $field)) | fromJson) -}}
{{- end -}}
{{- $_ := set $pod "topologySpreadConstraints" (include "tf-cluster.spread" $context | fromJsonArray) -}}
{{- $mounts := list -}}
{{- $volumes := list -}}
{{- range include "tf-cluster.pod.mounts" $context | fromYamlArray -}}
{{- $mounts = append $mounts (merge (dict "name" .name) .mount) -}}
{{- $volumes = append $volumes (merge (dict "name" .name) .volume) -}}
{{- end -}}
{{- $mounts = concat $mounts ($pod.extraVolumeMounts | default list) -}}
{{- $volumes = concat $volumes ($pod.extraVolumes | default list) -}}
metadata:
  labels:
    {{- include "tf-cluster.pod.labels" . | nindent 4 }}
    {{- if .names }}
    tf-cluster.io/run: {{ .root.Values.run.id | quote }}
    {{- end }}
    {{- with $pod.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with include "tf-cluster.pod.annotations" $context | fromJson }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  {{- with .serviceAccount | default .role.account | default (include "tf-cluster.serviceAccount" .root) }}
  serviceAccountName: {{ . | quote }}
  {{- end }}
  automountServiceAccountToken: {{ if .serviceAccount }}true{{ else }}false{{ end }}
  enableServiceLinks: false
  {{- with .hostname }}
  hostname: {{ . | quote }}
  {{- end }}
  {{- if .role.task }}
  subdomain: {{ .names.service }}
  {{- end }}
  dnsConfig:
    options:
      - name: ndots
        value: "2"
  {{- with .role.restartPolicy }}
  restartPolicy: {{ . }}
  {{- end }}
  {{- if hasKey $pod "terminationGracePeriodSeconds" }}
  terminationGracePeriodSeconds: {{ .graceSeconds | default (int64 $pod.terminationGracePeriodSeconds) }}
  {{- end }}
  {{- with include "tf-cluster.pullSecrets" .root | fromJsonArray }}
  imagePullSecrets: {{ toJson . }}
  {{- end }}
  {{- range $field := list
    "priorityClassName" "schedulerName" "runtimeClassName" "nodeSelector" "tolerations" "topologySpreadConstraints"
    "resourceClaims" }}
  {{- with get $pod $field }}
  {{- dict $field . | toYaml | nindent 2 }}
  {{- end }}
  {{- end }}
  {{- with include "tf-cluster.pod.affinity" $context }}
  affinity:
    {{- . | nindent 4 }}
  {{- end }}
  securityContext:
    {{- toYaml (.root.Values.security.podSecurityContext | default dict) | nindent 4 }}
  {{- with include "tf-cluster.pod.beside" $context | fromJsonArray }}
  initContainers:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  containers:
    - name: {{ .role.name }}
      image: {{ include "tf-cluster.image" $context | quote }}
      imagePullPolicy: {{ ($pod.image | default dict).pullPolicy | default .root.Values.image.pullPolicy }}
      {{- with .role.command }}
      command: [{{ join ", " . }}]
      {{- end }}
      {{- with .args }}
      args:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      env:
        {{- include "tf-cluster.pod.env" $context | nindent 8 }}
      {{- with $pod.envFrom }}
      envFrom:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .role.ports }}
      ports:
        {{- range $name := . }}
        - name: {{ $name }}
          containerPort: {{ include (printf "tf-cluster.port.%s" $name) $ | int64 }}
        {{- end }}
      {{- end }}
      {{- with .role.probe }}
      readinessProbe:
        httpGet:
          {{- dict "path" (print ($pod.pathPrefix | default "") .path) "port" .port | toYaml | nindent 10 }}
        periodSeconds: 5
        {{- if $.role.page }}
        timeoutSeconds: 20
        {{- end }}
      {{- end }}
      {{- with .preStopSeconds }}
      lifecycle:
        preStop:
          exec:
            command: [sleep, {{ . | quote }}]
      {{- end }}
      resources:
        {{- toYaml ($pod.resources | default .role.resources | default dict) | nindent 8 }}
      terminationMessagePolicy: FallbackToLogsOnError
      securityContext:
        {{- toYaml ($pod.containerSecurityContext | default dict) | nindent 8 }}
      volumeMounts:
        {{- toYaml $mounts | nindent 8 }}
  volumes:
    {{- toYaml $volumes | nindent 4 }}
{{- end -}}

{{- /* Annotations of a pod, as JSON: those by which a Prometheus finds a task, then those of its values. */ -}}
{{- define "tf-cluster.pod.annotations" -}}
{{- $scrape := dict -}}
{{- if and .role.task .root.Values.monitoring.scrapeAnnotations -}}
{{- $port := include "tf-cluster.port.status" . -}}
{{- $scrape = dict "prometheus.io/scrape" "true" "prometheus.io/port" $port "prometheus.io/path" "/metrics" -}}
{{- end -}}
{{- include "tf-cluster.laidOver" (list $scrape .pod.podAnnotations) -}}
{{- end -}}

{{- /*
What the pod mounts, and where, as a YAML list: each entry is a volume's name, the rest of the mount and the rest of
the volume.
*/ -}}
{{- define "tf-cluster.pod.mounts" -}}
- name: tmp
  mount: {mountPath: /tmp}
  volume: {emptyDir: {{ ternary (dict "sizeLimit" .pod.tmpSize) dict (not (empty .pod.tmpSize)) | toJson }}}
{{- with .pod.shmSize }}
- name: shm
  mount: {mountPath: /dev/shm}
  volume: {emptyDir: {medium: Memory, sizeLimit: {{ . | quote }}}}
{{- end }}
{{- if .role.task }}
- name: config
  mount: {mountPath: /etc/tf-cluster, readOnly: true}
  volume: {configMap: {name: {{ .names.config }}}}
{{- end }}
{{- with include "tf-cluster.pod.login" . }}
- name: login
  mount: {mountPath: /etc/tf-cluster-source, readOnly: true}
  volume: {secret: {secretName: {{ . | quote }}, defaultMode: 0440}}
{{- end }}
{{- range $volume := include "tf-cluster.pod.claims" . | fromJsonArray }}
{{- $of := dict "root" $.root "volume" $volume "readOnly" $.role.readOnly }}
- name: {{ $volume | quote }}
  mount: {{ include "tf-cluster.claim.mount" $of | fromYaml | toJson }}
  volume: {{ include "tf-cluster.claim.volume" $of | fromYaml | toJson }}
{{- end }}
{{- with .mounts }}
{{- toYaml . | nindent 0 }}
{{- end }}
{{- end -}}

{{- /*
The values of a role's pods, as JSON: those of `pod`, then the role's own. A map or a list of the role takes the place
of the whole default; labels, annotations and the container's security context are laid over the default by key,
variables by name. null is no value. Takes root, role.
*/ -}}
{{- define "tf-cluster.podValues" -}}
{{- $values := dict -}}
{{- range $given := list .root.Values.pod (get .root.Values .role.name) -}}
{{- range $key, $value := $given | default dict -}}
{{- $default := get $values $key -}}
{{- if has $key (list "podLabels" "podAnnotations" "objectLabels" "objectAnnotations" "containerSecurityContext") -}}
{{- $value = include "tf-cluster.laidOver" (list $default $value) | fromJson -}}
{{- else if eq $key "extraEnv" -}}
{{- $value = include "tf-cluster.mergedEnv" (list $default $value) | fromJsonArray -}}
{{- end -}}
{{- if not (kindIs "invalid" $value) -}}{{- $_ := set $values $key $value -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- toJson $values -}}
{{- end -}}

{{- /* A map laid over another by key, at every depth, as JSON. Takes both, listed. `merge` loses false and "". */ -}}
{{- define "tf-cluster.laidOver" -}}
{{- $result := deepCopy (first . | default dict) -}}
{{- range $key, $value := last . | default dict -}}
{{- if and (kindIs "map" $value) (kindIs "map" (get $result $key)) -}}
{{- $value = include "tf-cluster.laidOver" (list (get $result $key) $value) | fromJson -}}
{{- end -}}
{{- $_ := set $result $key $value -}}
{{- end -}}
{{- toJson $result -}}
{{- end -}}

{{- /*
The containers beside the role's own, as a JSON list: sidecars, which start before the others and end after them, then
init containers. A sidecar of Kubernetes' own kind (an init container that always restarts) keeps no Job open. Their
security contexts are laid over that of the role's container.
*/ -}}
{{- define "tf-cluster.pod.beside" -}}
{{- $beside := list -}}
{{- range .pod.sidecars -}}{{- $beside = append $beside (merge (dict "restartPolicy" "Always") .) -}}{{- end -}}
{{- $containers := list -}}
{{- $default := dict "securityContext" .pod.containerSecurityContext -}}
{{- range concat $beside (.pod.initContainers | default list) -}}
{{- $containers = append $containers (include "tf-cluster.laidOver" (list $default .) | fromJson) -}}
{{- end -}}
{{- toJson $containers -}}
{{- end -}}

{{- /* Two lists of variables, as a JSON list. A variable of the second replaces one of the first. Takes both, listed. */ -}}
{{- define "tf-cluster.mergedEnv" -}}
{{- $over := last . | default list -}}
{{- $names := list -}}
{{- range $over -}}{{- $names = append $names .name -}}{{- end -}}
{{- $env := list -}}
{{- range first . | default list -}}
{{- if not (has .name $names) -}}{{- $env = append $env . -}}{{- end -}}
{{- end -}}
{{- concat $env $over | toJson -}}
{{- end -}}

{{- /*
Labels of a pod; also the selector of its Deployment. Who is no task of the attempt has no label of it: the
headless Service leaves that pod out.
*/ -}}
{{- define "tf-cluster.pod.labels" -}}
{{- include "tf-cluster.identity" .root }}
app.kubernetes.io/component: {{ .role.name }}
{{- if .role.task }}
tf-cluster.io/attempt: {{ .names.attempt | quote }}
{{- end }}
{{- if hasKey . "index" }}
tf-cluster.io/index: {{ .index | quote }}
{{- end }}
{{- end -}}

{{- /*
The claims that a role mounts, as a JSON list: /data and /log where it runs the user's code, /log for parameter servers
that write checkpoints themselves.
*/ -}}
{{- define "tf-cluster.pod.claims" -}}
{{- $ofPs := eq .role.claims "script" -}}
{{- if or (eq .role.claims "always") (and $ofPs (include "tf-cluster.ps.runScript" .root)) -}}
{{- .role.volumes | default (list "data" "log") | toJson -}}
{{- else if and $ofPs (include "tf-cluster.ps.mountsLog" .root) -}}
["log"]
{{- else -}}
[]
{{- end -}}
{{- end -}}

{{- /* The Secret with the login of a private source, for the roles that fetch it: those that run the user's code. */ -}}
{{- define "tf-cluster.pod.login" -}}
{{- $when := .role.code | default "never" -}}
{{- $free := or .root.Values.program.script (ne (include "tf-cluster.client" .root) "chief") -}}
{{- if or (eq $when "always") (and (eq $when "free") $free) (and (eq $when "script") (include "tf-cluster.ps.runScript" .root)) -}}
{{- (.root.Values.program.source | default dict).secretName -}}
{{- end -}}
{{- end -}}

{{- /*
Environment: ours, then the user's. An entry of the user's replaces ours of the same name, since a name
that stands twice is refused by a server-side apply. Names that must not be replaced: _guards.tpl.
*/ -}}
{{- define "tf-cluster.pod.env" -}}
{{- $own := include "tf-cluster.pod.ownEnv" . | fromYamlArray -}}
{{- include "tf-cluster.mergedEnv" (list $own .pod.extraEnv) | fromJsonArray | toYaml -}}
{{- end -}}

{{- define "tf-cluster.pod.ownEnv" -}}
{{- if .role.task -}}
- name: TF_CLUSTER_TASK_TYPE
  value: {{ .role.name }}
{{- if eq .role.index "chart" }}
- name: TF_CLUSTER_TASK_INDEX
  value: {{ .index | default 0 | quote }}
{{- end }}
{{- if .role.job }}
- name: TF_CLUSTER_JOB_UID
  valueFrom:
    fieldRef:
      fieldPath: metadata.labels['batch.kubernetes.io/controller-uid']
{{- end }}
- name: TF_CLUSTER_POD_UID
  valueFrom:
    fieldRef:
      fieldPath: metadata.uid
- name: GRPC_FAIL_FAST
  value: use_caller
- name: TF_CPP_MIN_LOG_LEVEL
  value: "1"
{{ end -}}
{{- if and (or .role.task .role.job) (eq .root.Values.logging.format "json") -}}
- name: TF_CLUSTER_LOG_FORMAT
  value: json
- name: TF_CLUSTER_RELEASE
  value: {{ include "tf-cluster.fullname" .root | quote }}
- name: TF_CLUSTER_RUN
  value: {{ .root.Values.run.id | quote }}
- name: TF_CLUSTER_ATTEMPT
  value: {{ .names.attempt | quote }}
{{ end -}}
{{- with .role.env }}
{{- include . $ }}
{{ end -}}
{{- if not (include "tf-cluster.pod.mayUseGpus" .) -}}
- name: NVIDIA_VISIBLE_DEVICES
  value: void
{{ end -}}
- name: HOME
  value: /tmp
- name: USER
  value: trainer
{{- end -}}

{{- /*
"true" for the roles that are shown GPUs. An evaluator that asks for none would see, and fill, the workers'
on a node that shows every container all GPUs.
*/ -}}
{{- define "tf-cluster.pod.mayUseGpus" -}}
{{- $resources := .pod.resources | default dict -}}
{{- $asks := or $resources.claims (keys ($resources.limits | default dict) | join " " | regexMatch "gpu|/mig-") -}}
{{- if or (eq .role.gpus "always") (and (eq .role.gpus "asked") $asks) }}true{{ end -}}
{{- end -}}

{{- /*
The user's affinity, what `scheduling` adds and, with storage.colocate, the rule that keeps all pods of the release that
mount a claim on one node. By release, not by attempt: two attempts overlap, on the same claims. The first
pod matches its own rule, which Kubernetes lets pass when no other pod matches it.
*/ -}}
{{- define "tf-cluster.pod.affinity" -}}
{{- $affinity := deepCopy (.pod.affinity | default dict) -}}
{{- if and (include "tf-cluster.pod.claims" . | fromJsonArray) (include "tf-cluster.colocate" .root) -}}
{{- $term := include "tf-cluster.pod.colocation" .root | fromYaml -}}
{{- $podAffinity := $affinity.podAffinity | default dict -}}
{{- $terms := $podAffinity.requiredDuringSchedulingIgnoredDuringExecution | default list -}}
{{- $_ := set $podAffinity "requiredDuringSchedulingIgnoredDuringExecution" (append $terms $term) -}}
{{- $_ := set $affinity "podAffinity" $podAffinity -}}
{{- end -}}
{{- with include "tf-cluster.neighbours" . | fromJsonArray -}}
{{- $podAffinity := $affinity.podAffinity | default dict -}}
{{- $terms := $podAffinity.preferredDuringSchedulingIgnoredDuringExecution | default list -}}
{{- $_ := set $podAffinity "preferredDuringSchedulingIgnoredDuringExecution" (concat $terms .) -}}
{{- $_ := set $affinity "podAffinity" $podAffinity -}}
{{- end -}}
{{- with $affinity -}}{{- toYaml . -}}{{- end -}}
{{- end -}}

{{- /* Takes the root context. Who always mounts the claims stands first. */ -}}
{{- define "tf-cluster.pod.colocation" -}}
{{- $whens := list "always" -}}
{{- if include "tf-cluster.ps.mountsClaims" . -}}{{- $whens = append $whens "script" -}}{{- end -}}
{{- $names := list -}}
{{- range $when := $whens -}}
{{- range include "tf-cluster.roles" $ | fromJsonArray -}}
{{- if eq .claims $when -}}{{- $names = append $names .name -}}{{- end -}}
{{- end -}}
{{- end -}}
topologyKey: kubernetes.io/hostname
labelSelector:
  matchLabels:
    {{- include "tf-cluster.identity" . | nindent 4 }}
  matchExpressions:
    - key: app.kubernetes.io/component
      operator: In
      values: [{{ join ", " $names }}]
{{- end -}}
