{{- define "worker" }}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .root.Release.Name }}-{{ .name }}
data:
  size: {{ .worker.size | quote }}
{{- end }}
