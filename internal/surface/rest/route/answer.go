package route

import (
	"net/http"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// reply is an answer with a status of its own.
type reply struct {
	status int
	body   any
	whole  bool // body is not the data of an answer, but all of it
}

// NoContent is the answer of what has nothing to say.
var NoContent any = reply{status: http.StatusNoContent}

// Created answers with what was made.
func Created(body any) any { return reply{status: http.StatusCreated, body: body} }

// Accepted answers for what has begun and goes on by itself.
func Accepted(body any) any { return reply{status: http.StatusAccepted, body: body} }

// Whole answers with a body that has members beside data.
func Whole(status int, body any) any { return reply{status, body, true} }

// ListOf answers with one page of a listing that counts its rows.
func ListOf[V any](page []V, total int) any {
	return Whole(http.StatusOK, struct {
		Success bool `json:"success"`
		Data    []V  `json:"data"`
		Total   int  `json:"total"`
	}{true, page, total})
}

// Writer is an answer that writes itself. It runs after its action has
// returned: open streams are many, and a goroutine's stack is as large as the
// frames under the wait make it. An error is for answers that have not begun.
type Writer func(w http.ResponseWriter) error

func writeAnswer(w http.ResponseWriter, answer any) error {
	switch a := answer.(type) {
	case Writer:
		return a(w)
	case reply:
		switch {
		case a.status == http.StatusNoContent:
			w.WriteHeader(a.status)
		case a.whole:
			httpd.WriteJSON(w, a.status, a.body)
		default:
			httpd.WriteData(w, a.status, a.body)
		}
	default:
		httpd.WriteData(w, http.StatusOK, a)
	}
	return nil
}

func writeError(w http.ResponseWriter, r *http.Request, err error) {
	if httpd.Status(beeos.CodeOf(err)) == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="BeeOS"`)
	}
	httpd.WriteError(w, r, err)
}

// MarkReplay says in a header that the answer is the one of an earlier request
// under the same idempotency key.
func (r *Request) MarkReplay(replayed bool) {
	if replayed {
		r.w.Header().Set("Idempotent-Replayed", "true")
	}
}

// ForbidCaching is for answers that carry a secret.
func (r *Request) ForbidCaching() { r.w.Header().Set("Cache-Control", "no-store") }
