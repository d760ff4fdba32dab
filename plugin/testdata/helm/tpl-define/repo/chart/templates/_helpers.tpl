{{- define "shared" -}}outer{{- end -}}
