package mcp

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/beeos/beeos/internal/surface/mcp/wire"
)

// TestVersionSkew: a hosted client sends an older version header with a modern
// body. By default that works; a strict server refuses it.
func TestVersionSkew(t *testing.T) {
	s := newStack(t)
	for _, tt := range []struct {
		strict  bool
		headers http.Header
		status  int
	}{
		{false, http.Header{wire.HeaderVersion: {"2025-11-25"}}, http.StatusOK},
		{true, http.Header{wire.HeaderVersion: {"2025-11-25"}}, http.StatusBadRequest},
		{false, http.Header{wire.HeaderVersion: {"2025-11-25"}, wire.HeaderMethod: {"tools/call"}}, http.StatusBadRequest},
		{false, http.Header{wire.HeaderVersion: {"1999-01-01"}}, http.StatusBadRequest},
		{false, http.Header{wire.HeaderVersion: {"2026-07-28", "2026-07-28"}, wire.HeaderMethod: {"tools/list"}}, http.StatusBadRequest},
		{false, http.Header{wire.HeaderVersion: {"2026-07-28"}, wire.HeaderMethod: {"tools/list", "tools/list"}}, http.StatusBadRequest},
		{false, http.Header{wire.HeaderVersion: {"2026-07-28"}, wire.HeaderMethod: {"tools/list"}}, http.StatusOK},
	} {
		s.gateway.opt.Strict = tt.strict
		r := httptest.NewRequest(http.MethodPost, "/"+s.agents["clerk"]+"/mcp", strings.NewReader(s.fill(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{${meta}}}`, "")))
		r.Header = tt.headers
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+s.keys["user"])
		w := httptest.NewRecorder()
		s.gateway.ServeHTTP(w, r)
		if w.Code != tt.status {
			t.Errorf("strict %v, %v: %d %s", tt.strict, tt.headers, w.Code, w.Body)
		}
		if code := `"code":-32020`; tt.status != http.StatusOK && !strings.Contains(w.Body.String(), code) {
			t.Errorf("%v: %s", tt.headers, w.Body)
		}
	}
}
