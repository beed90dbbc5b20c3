module countersign.dev/tools/promtool

go 1.26.0

require github.com/prometheus/prometheus v0.314.0
