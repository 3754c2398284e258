package page

import (
	"net/http"
	"net/url"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// Answer is what the browser gets for a request.
type Answer interface {
	write(s *Server, r *Request) error
}

// Writer is an answer that writes itself. An error is for answers that have
// not begun.
type Writer func(w http.ResponseWriter) error

func (f Writer) write(_ *Server, r *Request) error { return f(r.w) }

// Redirect leads to another page, which shows the notice of that code if it is
// ours; "" = none.
func Redirect(path, notice string) Answer {
	if notice != "" {
		path += "?did=" + url.QueryEscape(notice)
	}
	return redirect(path)
}

type redirect string

func (to redirect) write(_ *Server, r *Request) error {
	http.Redirect(r.w, r.Request, string(to), http.StatusSeeOther)
	return nil
}

// RedirectTo is an action that leads to another page of ours.
func RedirectTo(path string) Action {
	return func(*Request) (Answer, error) { return Redirect(path, ""), nil }
}

// With is an action on the thing that the path names: find returns it if it is
// the visitor's to see.
func With[T any](find func(r *Request) (T, error), do func(r *Request, thing T) (Answer, error)) Action {
	return func(r *Request) (Answer, error) {
		thing, err := find(r)
		if err != nil {
			return nil, err
		}
		return do(r, thing)
	}
}

// Form is an action that takes a form. What a person can correct is said on the
// page that again shows; a script has that page, so it is told whether the form
// worked and no more.
func Form(do, again Action) Action {
	return func(r *Request) (Answer, error) {
		answer, err := do(r)
		switch {
		case err == nil && r.isScripted():
			return noContent, nil
		case !r.isScripted() && r.NoteProblem(err):
			return again(r)
		}
		return answer, err
	}
}

var noContent = Writer(func(w http.ResponseWriter) error {
	w.WriteHeader(http.StatusNoContent)
	return nil
})

// NoteProblem keeps what a person can correct in a form, or try again later, for
// the page that they see next; false for any other error.
func (r *Request) NoteProblem(err error) bool {
	switch beeos.CodeOf(err) {
	case beeos.InvalidParam, beeos.InvalidBody, beeos.MissingParam, beeos.Conflict, beeos.ConfirmationRequired, beeos.LoginRejected, beeos.RateLimited, beeos.BudgetExceeded, beeos.AgentOffline:
		httpd.CountRefusal(r.Request, err)
		r.SetProblem(beeos.Public(err).Message, httpd.StatusOf(err))
		return true
	}
	return false
}

// SetProblem says on the page that is shown next what was wrong.
func (r *Request) SetProblem(message string, status int) {
	r.problem, r.status = Sentence(message), status
}
