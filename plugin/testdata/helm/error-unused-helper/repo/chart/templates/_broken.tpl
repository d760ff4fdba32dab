{{ define "x" }}{{ if }}{{ end }}
