{{- define "shared.name" -}}parent{{- end -}}
