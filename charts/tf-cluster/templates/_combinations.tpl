{{- /*
The five combinations of strategy, replication and update, a row each. A row says whether there is a chief, whether
there are parameter servers, and whether all workers make each step together. Templates ask the row. The trainer's and
the generator's tables have the same rows (tests/chart/test_combinations.py).
*/ -}}
{{- define "tf-cluster.combinations" -}}
- {strategy: parameter-server, replication: in-graph, update: async, hasChief: true, hasPs: true, lockstep: false}
- {strategy: parameter-server, replication: in-graph, update: sync, hasChief: true, hasPs: true, lockstep: true}
- {strategy: parameter-server, replication: between-graph, update: async, hasChief: false, hasPs: true, lockstep: false}
- {strategy: parameter-server, replication: between-graph, update: sync, hasChief: false, hasPs: true, lockstep: true}
- {strategy: all-reduce, replication: between-graph, update: sync, hasChief: false, hasPs: false, lockstep: true}
{{- end -}}

{{- /* The row of these values as JSON. Without one it is {}, and a guard complains. */ -}}
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
