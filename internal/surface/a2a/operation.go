package a2a

import (
	"context"
	"iter"
	"net/http"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/auth"
	"github.com/beeos/beeos/internal/surface/a2a/wire"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// operation is what a known caller asks of one agent.
type operation struct {
	surface *Surface
	w       http.ResponseWriter
	r       *http.Request
	binding binding
	caller  beeos.Caller
	agent   *beeos.Agent
	dialect wire.Dialect
	params  wire.Params
	open    *auth.Stream // nil = the answer is none
}

// binding is how answers are wrapped. Of a result and an error one is nil.
type binding interface {
	body(d wire.Dialect, result any, err error) any
	status(f wire.Fault) int
}

// events is what a stream carries: values of the SDK's types, in StreamResponse.
type events = iter.Seq2[any, error]

// handler answers with a value of the SDK's types, or with a stream of them.
type handler struct {
	do      func(*operation, context.Context) (any, error)
	stream  func(*operation, context.Context) (events, error)
	follows bool // the stream is of a task that goes on without it
}

var (
	opSend      = handler{do: (*operation).sendMessage}
	opStream    = handler{stream: (*operation).streamMessage}
	opGet       = handler{do: (*operation).getTask}
	opList      = handler{do: (*operation).listTasks}
	opCancel    = handler{do: (*operation).cancelTask}
	opSubscribe = handler{stream: (*operation).subscribeToTask, follows: true}
	opPushSet   = handler{do: (*operation).setPush}
	opPushGet   = handler{do: (*operation).getPush}
	opPushList  = handler{do: (*operation).listPush}
	opPushDrop  = handler{do: (*operation).deletePush}
	opCard      = handler{do: (*operation).getExtendedCard}
)

// run answers the operation, unless it could not even be read.
func (o *operation) run(h handler, err error) {
	if err != nil {
		o.fail(err)
		return
	}
	if h.stream != nil {
		defer o.openStream().Close()
		if h.follows {
			err = o.open.Follow()
		}
		if err != nil {
			o.fail(err)
			return
		}
	}
	ctx := httpd.With(o.r.Context(), "caller", o.caller.Principal())
	var result any
	var all events
	if h.do != nil {
		result, err = h.do(o, ctx)
	} else {
		all, err = h.stream(o, ctx)
	}
	switch {
	case err != nil:
		o.fail(err)
	case all != nil:
		o.writeEvents(ctx, all)
	default:
		httpd.WriteJSON(o.w, http.StatusOK, o.binding.body(o.dialect, o.dialect.Encode(result), nil))
	}
}

func (o *operation) fail(err error) {
	f := wire.FaultOf(err)
	f.Report(o.w, o.r, err)
	httpd.WriteJSON(o.w, o.binding.status(f), o.binding.body(o.dialect, nil, err))
}

// writeEvents writes a stream, and keeps it alive. An error in the middle of
// it is its last event, and so is the end of its credential.
func (o *operation) writeEvents(ctx context.Context, all events) {
	sse := httpd.NewSSE(o.w)
	defer sse.Close()
	sse.KeepAlive(keepAlive)
	for ev, err := range all {
		if o.open.Check() != nil {
			break
		}
		if err != nil && ctx.Err() != nil {
			return
		}
		if !o.writeEvent(sse, ev, err) {
			return
		}
	}
	if err := o.open.Err(); err != nil {
		o.writeEvent(sse, nil, err)
	}
}

// writeEvent writes one event or the error that ends the stream, and reports
// whether more may follow.
func (o *operation) writeEvent(sse *httpd.SSE, ev any, err error) (more bool) {
	if err != nil {
		httpd.Report(o.r, err)
		wire.CountRefusal(o.r, err)
	}
	data, failed := beeos.EncodeJSON(o.binding.body(o.dialect, o.dialect.Encode(ev), err))
	if failed != nil {
		httpd.Report(o.r, failed)
		return false
	}
	return sse.Event("", "", data) == nil && err == nil
}
