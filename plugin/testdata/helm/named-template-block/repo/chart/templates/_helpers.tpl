{{- define "labels" }}
    app: {{ .Release.Name }}
    chart: {{ .Chart.Name }}
{{- end }}
