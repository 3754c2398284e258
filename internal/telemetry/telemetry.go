// Package telemetry is how BeeOS tells its operator what it does: a logger
// (log.go) that colours lines on a terminal, writes JSON elsewhere and adds
// what the context knows (context.go), and the Prometheus metrics, the only place
// that imports Prometheus: metrics.go has what parts report, calls.go and http.go
// what is counted of calls and requests, busiest.go keeps names that others choose
// from becoming too many, reading.go asks the database when the page is read.
// Nothing here is global: logger and metrics are made once by the app and handed
// to those who need them.
package telemetry
