{{- define "where" -}}{{ .Template.Name }}{{- end -}}
