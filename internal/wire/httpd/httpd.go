// Package httpd is the HTTP edge that every surface stands on. Listen opens
// all ports before anything starts (listen.go) and Serve drains them at the end
// (shutdown.go). Handler wraps a surface with the request id, panic recovery,
// the access line, metrics and the health pages (handler.go, health.go), and
// keeps web pages away from loopback listeners (guard.go). Several parts can share
// one address, each with its own Handler behind it. client.go says where a request
// comes from, as far as the proxies in front are to be believed. What comes in is
// read once, strictly (read.go, over strictjson); what goes out is the
// envelope of the contract (write.go), its errors (errors.go) or a stream of
// server-sent events (sse.go). Surfaces translate; none of this is theirs to
// repeat.
package httpd
