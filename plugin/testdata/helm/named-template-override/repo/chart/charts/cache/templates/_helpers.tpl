{{- define "shared.name" -}}cache{{- end -}}
