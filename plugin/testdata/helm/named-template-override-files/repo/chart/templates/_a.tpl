{{- define "name" -}}a{{- end -}}
