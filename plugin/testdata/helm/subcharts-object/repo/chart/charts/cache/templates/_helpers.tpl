{{- define "cache.name" -}}{{ .Release.Name }}-{{ .Chart.Name }}-{{ .Values.port }}{{- end -}}
