{{- /*
The alerts, with the training's series alone: a release of an umbrella chart may have two trainings, of two names. A run
without a value has no series: a script tells no steps. Sums over the tasks outlive a pod that is replaced. `offset` asks
what was that long ago, so an alert needs as much history.
*/ -}}
{{- define "tf-cluster.monitoring.alerts" -}}
{{- $rules := .Values.monitoring.rules -}}
{{- $name := include "tf-cluster.fullname" . -}}
{{- $of := printf `{namespace=%q,app_kubernetes_io_instance=%q,app_kubernetes_io_name=%q}`
  .Release.Namespace .Release.Name (include "tf-cluster.name" .) -}}
{{- $stalled := printf "%ds" (int64 $rules.stalledSeconds) -}}
{{- $unsaved := printf "%ds" (int64 $rules.checkpointSeconds) -}}
- alert: TensorFlowTrainingStalled
  expr: >-
    max(tf_cluster_step{{ $of }}) - max(tf_cluster_step{{ $of }} offset {{ $stalled }}) == 0
    unless max(tf_cluster_final{{ $of }}) == 1
  annotations:
    summary: {{ printf "%s has made no step for %s" $name $stalled | quote }}
    description: Its tasks run, but its step stands still. The log of its chief, or of worker 0, says what it waits for.
- alert: TensorFlowTrainingLosesTasks
  expr: >-
    sum(tf_cluster_task_losses_total{{ $of }}) - (sum(tf_cluster_task_losses_total{{ $of }} offset 15m) or vector(0))
    >= {{ int64 $rules.losses }}
  annotations:
    summary: {{ printf "%s loses tasks again and again" $name | quote }}
    description: "{{ `{{ $value }}` }} losses in 15 minutes. tf_cluster_task_losses_total names the tasks; kubectl get events says why."
- alert: TensorFlowCheckpointOld
  expr: >-
    max(tf_cluster_step{{ $of }}) - max(tf_cluster_step{{ $of }} offset {{ $unsaved }}) > 0
    unless max(tf_cluster_checkpoint_step{{ $of }})
    - (max(tf_cluster_checkpoint_step{{ $of }} offset {{ $unsaved }}) or vector(0)) > 0
  annotations:
    summary: {{ printf "%s has saved no checkpoint for %s" $name $unsaved | quote }}
    description: It makes steps and would lose them. Is its log volume full or slow? Or train.checkpoint.seconds is longer.
{{- end -}}
