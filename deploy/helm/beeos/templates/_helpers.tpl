{{- define "beeos.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- else if contains (default .Chart.Name .Values.nameOverride) .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (default .Chart.Name .Values.nameOverride) | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "beeos.selector" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "beeos.labels" -}}
{{ include "beeos.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "beeos.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "beeos.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{/* The parts to deploy, by name: one called "all", or each of them. */}}
{{- define "beeos.parts" -}}
{{- if .Values.split -}}
{{- toYaml .Values.parts -}}
{{- else -}}
{{- toYaml (dict "all" (dict "replicas" .Values.replicas)) -}}
{{- end -}}
{{- end -}}

{{/* Ports that callers and agents use, by name: one for the domain, or one for each surface. */}}
{{- define "beeos.ports" -}}
{{- if .Values.domain -}}
{{- toYaml (dict "http" 8080) -}}
{{- else -}}
{{- toYaml (dict "web" 3000 "agents" 8083 "a2a" 8092 "mcp" 8094 "rest" 8095) -}}
{{- end -}}
{{- end -}}

{{/* What cannot work together is refused here, with what to do. */}}
{{- define "beeos.check" -}}
{{- $several := or .Values.split (gt (int .Values.replicas) 1) .Values.autoscaling.enabled -}}
{{- if and $several (not .Values.database.secret) -}}
{{- fail "several pods share a PostgreSQL: name its Secret in database.secret, or set split=false, replicas=1 and autoscaling.enabled=false" -}}
{{- end -}}
{{- if and $several (not .Values.nats.url) (not .Values.nats.secret) -}}
{{- fail "several pods share a NATS: set nats.url or nats.secret" -}}
{{- end -}}
{{- if and .Values.autoscaling.enabled .Values.split -}}
{{- fail "autoscaling is for pods that serve everything: set split=false, or scale the parts on their own" -}}
{{- end -}}
{{- if and .Values.domain .Values.split -}}
{{- fail "one address is for pods that serve everything: set split=false, or leave domain empty and route each name to the Service of its part" -}}
{{- end -}}
{{- if and .Values.ingress.enabled (not .Values.domain) -}}
{{- fail "the Ingress needs a host: set domain" -}}
{{- end -}}
{{- if and .Values.llm.secret (not (index .Values.settings "LLM_MODEL")) -}}
{{- fail "agents without a model of their own need one: set settings.LLM_MODEL" -}}
{{- end -}}
{{- if and (not .Values.database.secret) (not .Values.persistence.enabled) -}}
{{- fail "nothing would outlive the pod: set persistence.enabled=true, or name a PostgreSQL in database.secret" -}}
{{- end -}}
{{- end -}}
