{{- define "web.labels" -}}
app: web
{{- end }}
