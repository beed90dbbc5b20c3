{{/* The pod template of a process: (list $ "auth" <its entry of components.yaml>). */}}
{{- define "countersign.pod" -}}
{{- $root := index . 0 -}}
{{- $name := index . 1 -}}
{{- $component := index . 2 -}}
{{- $values := $root.Values -}}
{{- $fullname := include "countersign.fullname" $root -}}
{{- $process := index $values.processes $name -}}
metadata:
  labels: {{- include "countersign.labels" (list $root $name) | nindent 4 }}
  {{- /* No checksum of the configuration: a process takes a changed file without a restart. */}}
  {{- with $values.podAnnotations }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  {{- include "countersign.podCommon" (list $root) | nindent 2 }}
  serviceAccountName: {{ $fullname }}-{{ $name }}
  terminationGracePeriodSeconds: {{ add $values.termination.endpointSeconds $values.termination.drainSeconds 10 }}
  topologySpreadConstraints:
    {{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
    - maxSkew: 1
      topologyKey: {{ . }}
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels: {{- include "countersign.selector" (list $root $name) | nindent 10 }}
    {{- end }}
  {{- with $process.sidecars }}
  initContainers:
    {{- range . }}
    - {{- toYaml (merge (dict "restartPolicy" "Always") .) | nindent 6 }}
      securityContext: {{- include "countersign.containerSecurity" $root | nindent 8 }}
    {{- end }}
  {{- end }}
  containers:
    - name: {{ $name }}
      image: {{ include "countersign.image" (list $root $values.image.service) }}
      imagePullPolicy: {{ $values.image.pullPolicy }}
      args: {{ toJson $component.args }}
      securityContext: {{- include "countersign.containerSecurity" $root | nindent 8 }}
      ports:
        {{- range $port, $number := $component.ports }}
        - { name: {{ $port }}, containerPort: {{ $number }} }
        {{- end }}
      env:
        {{- $env := dict
          "AUTH_ISSUER" $values.issuer
          "CS_TLS_CA" "/etc/countersign/tls/ca.crt"
          "CS_TLS_CERT" "/etc/countersign/tls/tls.crt"
          "CS_TLS_KEY" "/etc/countersign/tls/tls.key"
          "CS_PEERS_FILE" "/etc/countersign/config/peers.json"
          "CS_LOG_LEVEL" $values.logLevel
          "CS_DRAIN_MS" (printf "%d" (mul $values.termination.drainSeconds 1000))
          (printf "%s_LISTEN" $component.prefix) (printf "0.0.0.0:%v" ($component.ports.grpc | default $component.ports.http))
          (printf "%s_ADMIN_LISTEN" $component.prefix) (printf "0.0.0.0:%v" $component.ports.admin)
        }}
        {{- range $callee, $callers := include "countersign.callers" $root | fromJson }}
        {{- if hasKey $callers $name }}
        {{- $ports := (index ($root.Files.Get "components.yaml" | fromYaml) $callee).ports }}
        {{- $_ := set $env (printf "CS_%s_ADDRESS" (upper $callee)) (printf "%s-%s:%v" $fullname $callee $ports.grpc) }}
        {{- if and (eq $name "gateway") $ports.https }}
        {{- $_ := set $env (printf "CS_%s_HTTP_ADDRESS" (upper $callee)) (printf "%s-%s:%v" $fullname $callee $ports.https) }}
        {{- end }}
        {{- end }}
        {{- end }}
        {{- if has "postgres" $component.destinations }}
        {{- $_ := set $env (printf "%s_DATABASE_URL_FILE" $component.prefix) "/etc/countersign/secret/database-url" }}
        {{- $_ := set $env "CS_NATS_URL" $values.nats.url }}
        {{- end }}
        {{- if and (eq $name "gateway") $values.secrets.gateway }}
        {{- $_ := set $env "GATEWAY_CHAIN_NODES_FILE" "/etc/countersign/secret/chain-nodes.json" }}
        {{- end }}
        {{- if and (eq $name "signer") $values.policy }}
        {{- $_ := set $env "SIGNER_POLICY_FILE" "/etc/countersign/policy/policy.json" }}
        {{- end }}
        {{- with $values.traces }}
        {{- if .endpoint }}
        {{- $_ := set $env "OTEL_EXPORTER_OTLP_ENDPOINT" .endpoint }}
        {{- $_ := set $env "OTEL_TRACES_SAMPLER_ARG" .ratio }}
        {{- end }}
        {{- end }}
        {{- range $key, $value := mergeOverwrite $env (deepCopy $component.env) $process.env }}
        - { name: {{ $key }}, value: {{ kindIs "string" $value | ternary $value (toJson $value) | quote }} }
        {{- end }}
      # Waits for the dependencies: Postgres, and auth's token state.
      startupProbe:
        httpGet: { path: /startupz, port: admin }
        periodSeconds: 2
        timeoutSeconds: 3
        failureThreshold: 150
      # Does not fail when a dependency is away: it is away for all replicas, and clients get a problem document.
      readinessProbe:
        httpGet: { path: /readyz, port: admin }
        periodSeconds: 2
        timeoutSeconds: 2
        failureThreshold: 2
      # Only for a process that is stuck.
      livenessProbe:
        httpGet: { path: /livez, port: admin }
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 6
      lifecycle:
        preStop: { sleep: { seconds: {{ $values.termination.endpointSeconds }} } }
      resources: {{- toYaml $process.resources | nindent 8 }}
      volumeMounts:
        - { name: tls, mountPath: /etc/countersign/tls, readOnly: true }
        - { name: config, mountPath: /etc/countersign/config, readOnly: true }
        {{- if get $values.secrets $name }}
        - { name: secret, mountPath: /etc/countersign/secret, readOnly: true }
        {{- end }}
        {{- if eq $name "signer" }}
        - { name: checkpoints, mountPath: /var/lib/countersign/checkpoints }
        {{- if $values.policy }}
        - { name: policy, mountPath: /etc/countersign/policy, readOnly: true }
        {{- end }}
        {{- end }}
        {{- with $process.volumeMounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
  volumes:
    - { name: tls, secret: { secretName: {{ $fullname }}-{{ $name }}-tls, defaultMode: 0440 } }
    - name: config
      configMap:
        name: {{ $fullname }}-config
        items:
          {{- range concat (list "peers.json") $component.config }}
          - { key: {{ . }}, path: {{ . }} }
          {{- end }}
    {{- if get $values.secrets $name }}
    - { name: secret, secret: { secretName: {{ index $values.secrets $name }}, defaultMode: 0440 } }
    {{- end }}
    {{- if eq $name "signer" }}
    {{- if eq $values.checkpoints.storageClassName "emptyDir" }}
    - { name: checkpoints, emptyDir: {} }
    {{- end }}
    {{- if $values.policy }}
    - { name: policy, configMap: { name: {{ $fullname }}-policy } }
    {{- end }}
    {{- end }}
    {{- with $process.volumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end }}
