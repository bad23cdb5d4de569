{{- /*
Complaints that a schema can't make in plain words, all at once. Every object's file includes this first. In an umbrella
chart the values stand below this chart's name, and that below the name of a chart between.
*/ -}}
{{- define "tf-serving.guards" -}}
{{- $text := include "tf-serving.guards.null" . | trim -}}
{{- if not $text }}{{ $text = include "tf-serving.guards.values" . | trim }}{{ end -}}
{{- with $text -}}
{{- $at := $.Template.BasePath | trimSuffix "/templates" | splitList "/charts/" | rest | join "." -}}
{{- $pattern := printf `(^|[\s(])((?:%s)(?:[.]\w| is ))` (keys $.Values | sortAlpha | join "|") -}}
{{- regexReplaceAll $pattern . (printf "${1}%s${2}" (ternary "" (print $at ".") (eq $at ""))) | printf "\n\n%s\n" | fail -}}
{{- end -}}
{{- end -}}

{{- /* A null removes a default, on which the templates count. */ -}}
{{- define "tf-serving.guards.null" -}}
{{- range $path := list "enabled" "commonLabels" "commonAnnotations" "models" "replicas" "image.repository" "image.pullPolicy"
  "image.pullSecrets" "tools.image" "tools.resources" "server.maxConnectionAgeSeconds" "server.configPollSeconds"
  "server.versionPollSeconds" "server.startSeconds" "server.preStopSeconds" "server.terminationGracePeriodSeconds"
  "server.extraArgs" "batching.enabled" "batching.maxBatchSize" "batching.timeoutMicros" "batching.maxEnqueuedBatches"
  "batching.allowedBatchSizes" "batching.padVariableLengthInputs" "rollout.maxSurge" "rollout.maxUnavailable" "resources"
  "autoscaling.enabled" "autoscaling.minReplicas" "autoscaling.maxReplicas" "autoscaling.metrics" "autoscaling.behavior"
  "podDisruptionBudget.enabled" "service.type" "service.ports.grpc" "service.ports.http" "service.nodePorts"
  "service.annotations" "storage.accessModes" "storage.besideReleases" "pod.extraEnv" "pod.affinity" "pod.podLabels"
  "pod.podAnnotations" "pod.objectLabels" "pod.objectAnnotations" "pod.extraVolumes" "pod.extraVolumeMounts"
  "pod.containerSecurityContext" "security.podSecurityContext" "security.networkPolicy.enabled"
  "security.networkPolicy.statusFrom" "monitoring.enabled" "monitoring.path" "monitoring.podMonitor.enabled"
  "monitoring.podMonitor.labels" "monitoring.podMonitor.interval" "serviceAccount" }}
{{- $node := $.Values }}
{{- range $key := splitList "." $path }}{{ $node = index (default dict $node) $key }}{{ end }}
{{- if kindIs "invalid" $node }}
{{ $path }} is null. Leave the line out to have its default (helm show values prints it).
{{- end }}
{{- end }}
{{- end -}}

{{- define "tf-serving.guards.values" -}}
{{- $values := .Values }}
{{- $name := include "tf-serving.fullname" . }}
{{- if and .Chart.IsRoot (not .Values.enabled) }}
enabled is false: only an umbrella chart can leave this chart out.
{{- end }}
{{- if not (regexMatch "^[a-z]([a-z0-9-]{0,56}[a-z0-9])?$" $name) }}
The name {{ $name }} can't be a Service's: it needs a letter first, then letters, digits and -, 58 at most. Take another
release name, or set fullnameOverride.
{{- end }}
{{- include "tf-serving.guards.models" . }}
{{- range $at, $image := dict "image" .Values.image "tools.image" .Values.tools.image }}
{{- if regexMatch "(@|:[^/]*$)" ($image.repository | default "") }}
{{ $at }}.repository is {{ $image.repository }}: the tag stands in {{ $at }}.tag, the digest in {{ $at }}.digest.
{{- end }}
{{- end }}
{{- with .Values.server }}
{{- $age := mulf .maxConnectionAgeSeconds 1.1 | ceil }}
{{- if lt (float64 .preStopSeconds) $age }}
server.preStopSeconds is {{ .preStopSeconds }}, but a client may stay with a pod for {{ $age }} s (server.maxConnectionAgeSeconds
and a tenth): a pod that ends would lose its requests. Raise the one, or lower the other.
{{- end }}
{{- if le (int64 .terminationGracePeriodSeconds) (int64 .preStopSeconds) }}
server.terminationGracePeriodSeconds is {{ .terminationGracePeriodSeconds }}, and server.preStopSeconds takes {{ .preStopSeconds }}
of it: leave some seconds, in which requests are answered.
{{- end }}
{{- if and .readinessModel (not (hasKey $values.models .readinessModel)) }}
server.readinessModel is {{ .readinessModel }}, which is not in models ({{ keys $values.models | sortAlpha | join ", " }}).
{{- end }}
{{- $flags := include "tf-serving.guards.flags" $ | splitList " " }}
{{- range .extraArgs }}
{{- $flag := regexFind "[a-z_0-9]+" . }}
{{- if not (has $flag $flags) }}
server.extraArgs has --{{ $flag }}, which the chart sets by another value, or which the server does not have: it would ignore it.
Those it takes here: {{ join ", " $flags }}.
{{- end }}
{{- end }}
{{- end }}
{{- with .Values.autoscaling }}
{{- $cpus := include "tf-serving.cpus" $values.resources }}
{{- if and .enabled .targetCPUUtilizationPercentage (eq $cpus "0") }}
autoscaling.targetCPUUtilizationPercentage is {{ .targetCPUUtilizationPercentage }} percent of the CPU request, and there
is none: set resources.requests.cpu.
{{- end }}
{{- range $index, $metric := ternary .metrics list (and .enabled (eq $cpus "0")) }}
{{- $of := $metric.resource | default $metric.containerResource | default dict }}
{{- $by := list $of.name ($of.container | default "serving") ($of.target | default dict).type | join " " }}
{{- if eq $by "cpu serving Utilization" }}
autoscaling.metrics[{{ $index }}] is a percentage of the CPU request, and there is none: set resources.requests.cpu.
{{- end }}
{{- end }}
{{- if and .enabled (not .targetCPUUtilizationPercentage) (empty .metrics) }}
autoscaling.metrics is empty, and autoscaling.targetCPUUtilizationPercentage is null: by what should it scale?
{{- end }}
{{- if and .enabled (gt (int64 .minReplicas) (int64 .maxReplicas)) }}
autoscaling.minReplicas is {{ .minReplicas }}, above autoscaling.maxReplicas, {{ .maxReplicas }}.
{{- end }}
{{- if and .enabled (ne (int64 $values.replicas) 1) }}
replicas is {{ $values.replicas }}, which would do nothing: autoscaling.enabled is true. Take autoscaling.minReplicas.
{{- end }}
{{- end }}
{{- if and (regexMatch "^0%?$" (toString .Values.rollout.maxSurge)) (regexMatch "^0%?$" (toString .Values.rollout.maxUnavailable)) }}
rollout.maxSurge and rollout.maxUnavailable are 0, so no pod could ever be replaced: raise one.
{{- end }}
{{- with .Values.podDisruptionBudget }}
{{- if and .enabled (eq (kindIs "invalid" .maxUnavailable) (kindIs "invalid" .minAvailable)) }}
podDisruptionBudget.maxUnavailable and podDisruptionBudget.minAvailable: set one of the two, and the other to null.
{{- end }}
{{- end }}
{{- with .Values.batching }}
{{- $sizes := list }}
{{- range .allowedBatchSizes }}{{ $sizes = append $sizes (int64 . | printf "%012d") }}{{ end }}
{{- $isLast := eq (last $sizes) (int64 .maxBatchSize | printf "%012d") }}
{{- if and $sizes (or (ne (uniq $sizes | sortAlpha | join " ") (join " " $sizes)) (not $isLast)) }}
batching.allowedBatchSizes is {{ toJson .allowedBatchSizes }}: they have to rise, and the last has to be batching.maxBatchSize,
{{ .maxBatchSize }}.
{{- end }}
{{- end }}
{{- with .Values.service }}
{{- $only := dict "nodePorts" (list "NodePort" "LoadBalancer") "externalTrafficPolicy" (list "NodePort" "LoadBalancer") }}
{{- range $key, $types := merge $only (dict "loadBalancerClass" (list "LoadBalancer") "loadBalancerSourceRanges" (list "LoadBalancer")) }}
{{- $value := get $values.service $key }}
{{- if kindIs "map" $value }}{{ $value = or $value.grpc $value.http }}{{ end }}
{{- if and $value (not (has $values.service.type $types)) }}
service.{{ $key }} would do nothing: service.type is {{ $values.service.type }}, and it is for {{ join " and " $types }}.
{{- end }}
{{- end }}
{{- if eq (int64 .ports.grpc) (int64 .ports.http) }}
service.ports.grpc and service.ports.http are both {{ .ports.http }}: a port of a Service is one's alone.
{{- end }}
{{- end }}
{{- with .Values.storage }}
{{- $many := or (has "ReadWriteMany" .accessModes) (has "ReadOnlyMany" .accessModes) }}
{{- if and (eq (toString .colocate) "false") (not $many) (include "tf-serving.claims" $ | fromJsonArray) }}
storage.colocate is false, but storage.accessModes is [{{ join ", " .accessModes }}], which one node can mount. Set it to
[ReadWriteMany] if the volumes can be mounted on several, or leave storage.colocate out.
{{- end }}
{{- end }}
{{- $apart := ($values.pod.affinity.podAntiAffinity | default dict).requiredDuringSchedulingIgnoredDuringExecution }}
{{- range $values.pod.topologySpreadConstraints }}{{ if eq .whenUnsatisfiable "DoNotSchedule" }}{{ $apart = true }}{{ end }}{{ end }}
{{- if and $apart (include "tf-serving.colocate" .) }}
pod.topologySpreadConstraints or pod.affinity.podAntiAffinity want several nodes, but all pods have to share one, since
storage.accessModes is [{{ join ", " $values.storage.accessModes }}]: take claims that are ReadWriteMany, or leave that out.
{{- end }}
{{- $ours := include "tf-serving.selector" . | fromYaml }}
{{- range $key := keys $values.pod.podLabels | sortAlpha }}
{{- if hasKey $ours $key }}
pod.podLabels has {{ $key }}, by which the chart finds its pods: leave it out.
{{- end }}
{{- end }}
{{- range $mount := $values.pod.extraVolumeMounts }}
{{- if regexMatch "^/(tmp|models|claims|etc/tf-serving)(/|$)" $mount.mountPath }}
pod.extraVolumeMounts has {{ $mount.mountPath }}, where the chart mounts its own: take another path.
{{- end }}
{{- end }}
{{- range $values.pod.extraVolumes }}
{{- if regexMatch "^(tmp|config|models|claim-.*)$" .name }}
pod.extraVolumes has the name {{ .name }}, which the chart's own volume has: take another.
{{- end }}
{{- end }}
{{- $near := ($values.pod.affinity.podAffinity | default dict).requiredDuringSchedulingIgnoredDuringExecution }}
{{- if and $near (include "tf-serving.colocate" .) }}
pod.affinity.podAffinity says beside whom the pods have to be, and so does storage.colocate, which is true where the claims are
ReadWriteOnce: leave one of the two out. storage.besideReleases names more releases.
{{- end }}
{{- $context := $values.security.podSecurityContext }}
{{- $own := $values.pod.containerSecurityContext }}
{{- $user := ternary $own.runAsUser $context.runAsUser (hasKey $own "runAsUser") }}
{{- $nonRoot := ternary $own.runAsNonRoot $context.runAsNonRoot (hasKey $own "runAsNonRoot") }}
{{- if and $nonRoot (not (kindIs "invalid" $user)) }}
{{- if eq (int64 $user) 0 }}
{{ ternary "pod.containerSecurityContext" "security.podSecurityContext" (hasKey $own "runAsUser") }}.runAsUser is 0, which is root, and
{{- print " " }}runAsNonRoot is true: no kubelet starts that. Name another user, or set runAsNonRoot: false beside it.
{{- end }}
{{- end }}
{{- $needs := dict "pod.resourceClaims" (list "1.31" $values.pod.resourceClaims)
  "security.podSecurityContext.appArmorProfile" (list "1.30" $context.appArmorProfile)
  "security.podSecurityContext.supplementalGroupsPolicy" (list "1.31" $context.supplementalGroupsPolicy)
  "pod.containerSecurityContext.appArmorProfile" (list "1.30" $own.appArmorProfile) }}
{{- range $path, $need := $needs }}
{{- if and (last $need) (semverCompare (printf "<%s.0-0" (first $need)) $.Capabilities.KubeVersion.Version) }}
{{ $path }} needs Kubernetes {{ first $need }}; this is {{ $.Capabilities.KubeVersion.Version }}.
{{- end }}
{{- end }}
{{- $policy := $values.security.networkPolicy }}
{{- if and (not $policy.enabled) (or $policy.allowFrom $policy.statusFrom) }}
security.networkPolicy.allowFrom and statusFrom would do nothing, since security.networkPolicy.enabled is false: remove them.
{{- end }}
{{- with $values.monitoring }}
{{- $api := "monitoring.coreos.com/v1/PodMonitor" }}
{{- if and .podMonitor.enabled (not .enabled) }}
monitoring.podMonitor.enabled is true, but monitoring.enabled is false, so there is nothing to read: remove one of the two.
{{- end }}
{{- if and .podMonitor.enabled $policy.enabled (not $policy.statusFrom) }}
monitoring.podMonitor.enabled is true, but security.networkPolicy.statusFrom lets nobody read the metrics: name Prometheus
there, as in [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: monitoring}}}].
{{- end }}
{{- if and .podMonitor.enabled (not ($.Capabilities.APIVersions.Has $api)) }}
monitoring.podMonitor.enabled is true, but this cluster has no PodMonitor. The Prometheus operator brings it: install that, or
set it to false. (helm template asks no cluster: give it --api-versions {{ $api }}.)
{{- end }}
{{- end }}
{{- range $kind, $amounts := $values.resources }}
{{- if and (kindIs "map" $amounts) (regexMatch "^[0-9.]{1,6}$" (toString (get (ternary $amounts dict (kindIs "map" $amounts)) "memory"))) }}
resources.{{ $kind }}.memory is {{ $amounts.memory }}, which is less than 1M: write the unit, as in 4Gi.
{{- end }}
{{- end }}
{{- end -}}

{{- define "tf-serving.guards.models" -}}
{{- if not .Values.models }}
models is empty: say what is served, as in models: {digits: {source: {run: {release: digits, id: "1"}}}}.
{{- end }}
{{- range $name, $model := .Values.models }}
{{- $at := print "models." $name }}
{{- $text := kindIs "string" $model.source | ternary $model.source "" }}
{{- $sources := list }}
{{- if kindIs "map" $model.source }}{{ $sources = include "tf-serving.said" $model.source | fromJson | keys | sortAlpha }}{{ end }}
{{- $address := $text }}
{{- if has "url" $sources }}{{ $address = $model.source.url.address }}{{ end }}
{{- if hasPrefix "s3://" $address }}
{{ $at }}.source has {{ $address }}: tensorflow/serving reads no S3 since 2.7 (tensorflow/serving#1963). Copy the model to a claim
(source.claim), pack it into an image (source.image), or give an HTTP(S) address and the file's hash (source.url).
{{- else if kindIs "string" $model.source }}
{{ $at }}.source is a text, {{ $text | quote }}: it has one of run, claim, image and url below it.
{{- else if ne (len $sources) 1 }}
{{ $at }}.source has {{ $sources | empty | ternary "nothing" (join " and " $sources) }}: give it one of run, claim, image and url.
{{- else if eq $address "" | or (regexMatch "^https?://" $address) | not }}
{{ $at }}.source.url.address is {{ $address }}: only http:// and https:// are fetched.
{{- else if and $address (not $.Values.tools.image.repository) }}
tools.image.repository is empty, and the trainer image fetches {{ $at }}.source.url: name the image that your trainings run.
{{- end }}
{{- $policy := include "tf-serving.said" $model.policy | fromJson | keys | sortAlpha }}
{{- if gt (len $policy) 1 }}
{{ $at }}.policy has {{ join " and " $policy }}: it takes one. A key of another values file goes when it is null here.
{{- else if $model.labels }}
{{- $labelled := list }}
{{- range $label, $version := $model.labels }}
{{- $labelled = append $labelled (int64 $version) }}
{{- $specific := list }}
{{- range ($model.policy | default dict).specific }}{{ $specific = append $specific (int64 .) }}{{ end }}
{{- if and $specific (not (has (int64 $version) $specific)) }}
{{ $at }}.labels.{{ $label }} is {{ $version }}, but {{ $at }}.policy.specific loads {{ toJson $specific }}:
add it there, or move the label.
{{- end }}
{{- end }}
{{- $latest := ($model.policy | default dict).latest | default 1 | int }}
{{- if and (has (join "" $policy) (list "" "latest")) (gt (uniq $labelled | len) $latest) }}
{{ $at }}.labels name {{ uniq $labelled | len }} versions, but {{ $at }}.policy loads the latest {{ $latest }}:
take policy specific, with these.
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{- /* Flags of tensorflow_model_server that no other value says: TensorFlow Serving's model_servers/main.cc. */ -}}
{{- define "tf-serving.guards.flags" -}}
{{- list "enable_grpc_healthcheck_service" "enable_model_warmup" "enable_per_model_batching_parameters" "enable_profiler"
  "enable_serialization_as_tensor_content" "enable_signature_method_name_check" "flush_filesystem_caches" "grpc_max_threads"
  "load_retry_interval_micros" "max_num_load_retries" "mixed_precision" "num_load_threads" "num_request_iterations_for_warmup"
  "num_tflite_interpreters_per_pool" "num_tflite_pools" "num_unload_threads" "per_process_gpu_memory_fraction" "platform_config_file"
  "prefer_tflite_model" "remove_unused_fields_from_bundle_metagraph" "rest_api_enable_cors_support" "rest_api_num_threads"
  "rest_api_timeout_in_ms" "saved_model_tags" "ssl_config_file" "tensorflow_session_config_file" "tensorflow_session_parallelism"
  "thread_pool_factory_config_file" "xla_cpu_compilation_enabled" "xla_gpu_compilation_enabled" | join " " -}}
{{- end -}}
