{{- /*
The five combinations of strategy, replication and update, a row each: has it a chief and parameter
servers, and do all workers make each step together. Whoever has to know asks the row; the trainer's
and the generator's tables have the same rows (tests/chart/test_combinations.py).
*/ -}}
{{- define "tf-cluster.combinations" -}}
- {strategy: parameter-server, replication: in-graph, update: async, hasChief: true, hasPs: true, lockstep: false}
- {strategy: parameter-server, replication: in-graph, update: sync, hasChief: true, hasPs: true, lockstep: true}
- {strategy: parameter-server, replication: between-graph, update: async, hasChief: false, hasPs: true, lockstep: false}
- {strategy: parameter-server, replication: between-graph, update: sync, hasChief: false, hasPs: true, lockstep: true}
- {strategy: all-reduce, replication: between-graph, update: sync, hasChief: false, hasPs: false, lockstep: true}
{{- end -}}

{{- /* The row of these values as JSON, {} where there is none, which a guard tells. */ -}}
{{- define "tf-cluster.combination" -}}
{{- $values := .Values -}}
{{- $found := dict -}}
{{- range $row := include "tf-cluster.combinations" . | fromYamlArray -}}
{{- if and
  (eq $row.strategy (toString $values.strategy))
  (eq $row.replication (toString $values.replication))
  (eq $row.update (toString $values.update)) -}}
{{- $found = $row -}}
{{- end -}}
{{- end -}}
{{- toJson $found -}}
{{- end -}}
