//go:build tools

// Package promtool pins Prometheus' tool that checks and tests rules.
package promtool

import _ "github.com/prometheus/prometheus/cmd/promtool"
