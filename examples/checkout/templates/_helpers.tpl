{{/*
The name of every object: the release name, with the chart name added unless it is in there already.
*/}}
{{- define "checkout.fullname" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/*
What never changes in the life of a release: fit for a selector. Called with root and component.
*/}}
{{- define "checkout.selectorLabels" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{/*
The labels of every object. They do not name Helm or the chart's version, so that the chart, the Kustomize
overlays and the plain files beside it are the same objects.
*/}}
{{- define "checkout.labels" -}}
{{ include "checkout.selectorLabels" . }}
app.kubernetes.io/part-of: shop
app.kubernetes.io/version: {{ .root.Values.image.version | default .root.Chart.AppVersion | quote }}
{{- end -}}

{{- define "checkout.image" -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- end -}}

{{/*
Every pod runs as an ordinary user without a service account token, on a read-only file system.
*/}}
{{- define "checkout.podSecurity" -}}
automountServiceAccountToken: false
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  seccompProfile:
    type: RuntimeDefault
{{- end -}}

{{- define "checkout.containerSecurity" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
{{- end -}}

{{- define "checkout.databaseEnv" -}}
- name: CHECKOUT_DATABASE_URL
  valueFrom:
    secretKeyRef:
      name: {{ .Values.database.secretName }}
      key: {{ .Values.database.secretKey }}
{{- end -}}
