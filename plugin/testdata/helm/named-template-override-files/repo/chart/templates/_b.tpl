{{- define "name" -}}b{{- end -}}
