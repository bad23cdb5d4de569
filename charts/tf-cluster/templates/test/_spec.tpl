{{- /* `helm test` means the attempt of the release as it is now. */ -}}
{{- define "tf-cluster.test.env" -}}
- name: TF_CLUSTER_ATTEMPT
  value: {{ .names.attempt | quote }}
{{- end -}}
