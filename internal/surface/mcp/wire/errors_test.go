package wire

import (
	"encoding/json"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/beeos/beeos"
)

// TestErrorTable is the contract of this surface about errors: the number and
// the word that a client gets, and the HTTP status without a version and with
// one.
func TestErrorTable(t *testing.T) {
	limited := beeos.Errorf(beeos.RateLimited, "slow down")
	limited.RetryAfter = 1500 * time.Millisecond
	tests := []struct {
		err     error
		number  int
		code    beeos.Code
		message string // when it is fixed
		bare    int
		version int
	}{
		{beeos.Errorf(beeos.InvalidJSON, "x"), -32700, beeos.InvalidJSON, "", 400, 400},
		{beeos.Errorf(beeos.InvalidBody, "x"), -32600, beeos.InvalidBody, "", 400, 400},
		{beeos.Errorf(beeos.InvalidParam, "x"), -32602, beeos.InvalidParam, "", 400, 200},
		{beeos.Errorf(beeos.MissingParam, "x"), -32602, beeos.MissingParam, "", 400, 200},
		{beeos.Errorf(beeos.MissingToken, "x"), 401, beeos.MissingToken, "", 401, 401},
		{beeos.Errorf(beeos.Unauthorized, "x"), 401, beeos.Unauthorized, "", 401, 401},
		{beeos.Errorf(beeos.InvalidToken, "x"), 401, beeos.InvalidToken, "", 401, 401},
		{beeos.Errorf(beeos.Forbidden, "x"), 403, beeos.Forbidden, "", 403, 200},
		{beeos.Errorf(beeos.AgentNotFound, "x"), 404, beeos.AgentNotFound, "", 404, 404},
		{beeos.Errorf(beeos.NotFound, "x"), 404, beeos.NotFound, "", 404, 200},
		{beeos.Errorf(beeos.Conflict, "x"), 409, beeos.Conflict, "", 409, 200},
		{beeos.Errorf(beeos.MessageTerminal, "x"), 410, beeos.MessageTerminal, "", 410, 200},
		{beeos.Errorf(beeos.PayloadTooLarge, "x"), 413, beeos.PayloadTooLarge, "", 413, 413},
		{beeos.Errorf(beeos.LoginRejected, "x"), 422, beeos.LoginRejected, "", 422, 200},
		{limited, 429, beeos.RateLimited, "slow down", 429, 200},
		{beeos.Errorf(beeos.InternalError, "x"), -32603, beeos.InternalError, "", 500, 200},
		{errors.New("secret cause"), -32603, beeos.InternalError, "", 500, 200},
		{beeos.Errorf(beeos.AgentOffline, "x"), 503, beeos.AgentServiceUnavailable, "", 503, 200},
		{beeos.Errorf(beeos.AgentServiceUnavailable, "x"), 503, beeos.AgentServiceUnavailable, "", 503, 200},
		{beeos.Errorf(beeos.ServiceTimeout, "x"), -32003, beeos.ServiceTimeout, "Agent reply timeout", 504, 200},
		{MethodNotFound("m"), -32601, beeos.NotFound, "Method not found: m", 404, 200},
		{ToolNotFound("m"), -32601, beeos.NotFound, "Tool not found", 404, 200},
		{ResourceNotFound("u"), -32002, beeos.NotFound, "Resource not found", 404, 200},
		{UnknownSession(), 404, beeos.NotFound, "", 404, 404},
		{UnsupportedVersion("2099"), -32022, beeos.InvalidParam, "", 400, 400},
	}
	covered := map[beeos.Code]bool{}
	for _, tt := range tests {
		f := FaultOf(tt.err)
		covered[beeos.CodeOf(tt.err)] = true
		var got struct {
			ID    json.RawMessage
			Error struct {
				Code    int
				Message string
				Data    struct {
					Code       beeos.Code
					RetryAfter int64 `json:"retry_after_ms"`
				}
			}
		}
		if err := json.Unmarshal(f.AppendResponse(nil, []byte(`"id"`), Unversioned), &got); err != nil {
			t.Fatalf("%v: %v", tt.err, err)
		}
		e := got.Error
		if e.Code != tt.number || e.Data.Code != tt.code || tt.message != "" && e.Message != tt.message {
			t.Errorf("%v: %+v", tt.err, e)
		}
		if f.httpStatus(Unversioned) != tt.bare || f.httpStatus(V20250618) != tt.version {
			t.Errorf("%v: status %d and %d", tt.err, f.httpStatus(Unversioned), f.httpStatus(V20250618))
		}
		if tt.code == beeos.RateLimited && e.Data.RetryAfter != 1500 {
			t.Errorf("retry_after_ms is %d", e.Data.RetryAfter)
		}
		if e.Message == "secret cause" {
			t.Error("an internal cause reached the client")
		}
	}
	for code := range codeNumbers {
		if !covered[code] {
			t.Errorf("%s has no line in this test", code)
		}
	}
	if http.StatusOK != (&Fault{Err: beeos.Errorf(beeos.Conflict, "x")}).httpStatus(NewestHandshake) {
		t.Error("an SDK gets a status that it does not expect")
	}
}
