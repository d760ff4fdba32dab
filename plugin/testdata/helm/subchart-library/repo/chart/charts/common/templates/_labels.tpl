{{- define "common.labels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
team: {{ .Values.common.team }}
colour: {{ .Values.common.colour }}
{{- end -}}
