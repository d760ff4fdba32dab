{{- define "shared.name" -}}beta{{- end -}}
