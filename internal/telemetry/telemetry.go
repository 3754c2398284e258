// Package telemetry is how BeeOS tells its operator what it does: a logger
// (log.go) that colours lines on a terminal, writes JSON elsewhere and adds
// what the context knows (context.go), and the Prometheus metrics
// (metrics.go), the only place that imports Prometheus. Nothing here is
// global: both are made once by the app and handed to those who need them.
package telemetry
