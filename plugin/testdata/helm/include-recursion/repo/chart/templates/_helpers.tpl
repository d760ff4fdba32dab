{{- define "count" -}}
{{- . -}}
{{- if gt . 0 -}},{{ include "count" (int (sub . 1)) }}{{- end -}}
{{- end -}}
