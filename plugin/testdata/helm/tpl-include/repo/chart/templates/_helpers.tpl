{{- define "checkout.name" -}}{{ .Release.Name }}-{{ .Chart.Name }}{{- end -}}
