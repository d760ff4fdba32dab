{{- define "shared.name" -}}alpha{{- end -}}
