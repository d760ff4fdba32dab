{{- define "name" -}}deep{{- end -}}
