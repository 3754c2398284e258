package hands

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"

	"github.com/beeos/beeos/client"
)

// invoice is the one of the seed.
var invoice = Invoice{Filename: "invoice-2024-001", Rows: []Row{{"2024-01-15", 1250, "Acme Corp"}, {"2024-01-16", 890.5, "Widget <Inc>"}}}

const saved = "CSV saved to /shared/invoices/invoice-2024-001.csv (2 rows)"

// filing is a model that wants the invoice saved and passes on what it hears.
func filing(in Invoice) func(Talk) Words {
	return func(t Talk) Words {
		switch last := t.Last(); {
		case last.Role == "tool":
			return Words{Text: "The drive says: " + last.Content}
		case !slices.Contains(t.Tools, Save(in).Tool):
			return Words{Text: "I cannot save files now. " + t.Messages[0].Content}
		}
		return Words{Text: "Saving.", Calls: []Call{Save(in)}}
	}
}

// pending returns the approvals that wait.
func (w *world) pending() []client.Approval {
	w.t.Helper()
	list, err := w.api.Approvals(w.t.Context(), "pending")
	if err != nil {
		w.t.Fatal(err)
	}
	return list
}

// checkTokens: each token was asked for with the drive as its resource, and
// nothing but those tokens came to the drive.
func (w *world) checkTokens(audience string) {
	w.t.Helper()
	asked := w.drive.Issuer.Asked()
	if len(asked) == 0 || len(asked) > 2 {
		w.t.Errorf("%d tokens were asked for", len(asked))
	}
	for _, r := range asked {
		if r.Client != clientID || r.Form.Get("resource") != w.drive.URL || r.Form.Get("grant_type") != "client_credentials" {
			w.t.Errorf("%s asked for a token with %v", r.Client, r.Form)
		}
	}
	headers := w.drive.Guard.Headers()
	if len(headers) == 0 || headers[0].Get("Authorization") != "" {
		w.t.Errorf("the way did not begin without a token: %v", headers)
	}
	for _, h := range headers {
		var raw strings.Builder
		_ = h.Write(&raw) // into memory
		for _, secret := range []string{w.callerKey, w.ownerKey, "Cookie", clientSecret} {
			if strings.Contains(raw.String(), secret) {
				w.t.Errorf("the drive got a credential that is not for it: %s", raw.String())
			}
		}
		token, ok := strings.CutPrefix(h.Get("Authorization"), "Bearer ")
		if !ok {
			continue
		}
		var claims jwt.MapClaims
		if _, _, err := jwt.NewParser().ParseUnverified(token, &claims); err != nil || claims["aud"] != audience || claims["iss"] != w.drive.Issuer.URL {
			w.t.Errorf("the drive got the token %v, %v", claims, err)
		}
	}
}

// checkAudit: the trail says who decided what, when, and by which way.
func (w *world) checkAudit(action, by, via string, since time.Time) {
	w.t.Helper()
	rows := w.audit()
	if len(rows) != 1 {
		w.t.Fatalf("%d lines in the trail: %+v", len(rows), rows)
	}
	r := rows[0]
	if r.Action != action || !strings.HasPrefix(r.Actor, by) || r.Detail["via"] != via || r.Detail["tool"] != SaveCSV || r.Detail["skill"] != Skill {
		w.t.Errorf("the trail says %+v", r)
	}
	if r.At.Before(since) || r.At.After(time.Now()) {
		w.t.Errorf("decided at %s, between %s and now", r.At, since)
	}
	if want := fmt.Sprintf("%x", sha256.Sum256([]byte(Save(invoice).Arguments))); r.Detail["arguments_sha256"] != want {
		w.t.Errorf("the trail is about other arguments: %v", r.Detail)
	}
}

// TestApproved is the whole way of seed 002: an MCP client calls, the model
// wants a file saved, the drive demands a token, its authorization server gives
// one for the drive, a person sees tool and arguments and presses the button,
// the file is written and the caller gets its answer.
func TestApproved(t *testing.T) {
	w := newWorld(t, filing(invoice))
	inbox, c, began := w.window(), w.caller(), time.Now().Add(-time.Second)
	call := c.say(t.Context(), "file the invoice")
	tool, arguments := inbox.asked()
	if tool != Skill+" / "+SaveCSV {
		t.Errorf("asked about %q", tool)
	}
	var shown Invoice
	if err := json.Unmarshal([]byte(arguments), &shown); err != nil {
		t.Errorf("%v in %s", err, arguments)
	}
	if diff := cmp.Diff(invoice, shown); diff != "" {
		t.Errorf("the arguments are shown as\n%s", diff)
	}
	if list := w.pending(); len(list) != 1 || list[0].Skill != Skill || list[0].Tool != SaveCSV || string(list[0].Arguments) != Save(invoice).Arguments {
		t.Errorf("pending: %+v", list)
	}
	c.told(t, "waiting for approval of "+Skill)
	if files := w.drive.Files(t); len(files) != 0 {
		t.Errorf("there is %v before anybody has decided", files)
	}
	inbox.approve()
	ends(t, call, "Saving.", "The drive says: "+saved)
	inbox.empty()
	want := map[string]string{"invoice-2024-001.csv": "2024-01-15,1250.00,Acme Corp\n2024-01-16,890.50,Widget <Inc>\n"}
	if diff := cmp.Diff(want, w.drive.Files(t)); diff != "" {
		t.Error(diff)
	}
	c.told(t, "calling "+SaveCSV)
	w.checkTokens(w.drive.URL)
	w.checkAudit("approval.approved", "user:", "console", began)
	if n := len(w.model.Talks()); n != 2 {
		t.Errorf("the model was asked %d times", n)
	}
}

// TestRejected: the model is told, with the reason, and tries something else.
func TestRejected(t *testing.T) {
	w := newWorld(t, func(talk Talk) Words {
		switch last := talk.Last(); {
		case last.Role != "tool":
			return Words{Calls: []Call{Save(invoice)}}
		case strings.Contains(last.Content, "not before the audit"):
			return Words{Text: "I was told: " + last.Content, Calls: []Call{{Skill + "__read_note", "{}"}}}
		}
		return Words{Text: "So I have read the note."}
	})
	inbox, c, began := w.window(), w.caller(), time.Now().Add(-time.Second)
	call := c.say(t.Context(), "file the invoice")
	inbox.asked()
	inbox.reject("not before the audit")
	ends(t, call, "the call was denied and not made: "+SaveCSV+" was denied: not before the audit", "So I have read the note.")
	if n := w.drive.Executions(); len(n) != 0 {
		t.Errorf("saved all the same: %v", n)
	}
	w.checkAudit("approval.rejected", "user:", "console", began)
}

// TestNobodyDecides: after the time that the owner has set, it is a no.
func TestNobodyDecides(t *testing.T) {
	w := newWorld(t, filing(invoice))
	w.policy(`{"timeout_seconds": 10}`)
	inbox, c, began := w.window(), w.caller(), time.Now()
	call := c.say(t.Context(), "file the invoice")
	inbox.asked()
	c.told(t, "waiting for approval of "+Skill)
	ends(t, call, "the call was denied and not made: "+SaveCSV+" was not approved in time")
	if took := time.Since(began); took < 9*time.Second || took > patience {
		t.Errorf("the call ended after %s", took)
	}
	inbox.empty() // by itself
	if n := w.drive.Executions(); len(n) != 0 {
		t.Errorf("saved all the same: %v", n)
	}
	w.checkAudit("approval.expired", "system", "", began)
}

// policy changes when the owner of the agent is asked.
func (w *world) policy(body string) {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), http.MethodPatch, w.api.URL()+"/api/v1/agents/"+w.agent.ID+"/approval-policy", bytes.NewReader([]byte(body)))
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+w.ownerKey)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		w.t.Fatalf("the policy: %s", resp.Status)
	}
}

// TestTwoPressAtOnce: two windows, one decision. The other is told.
func TestTwoPressAtOnce(t *testing.T) {
	w := newWorld(t, filing(invoice))
	windows := []*window{w.window(), w.window()}
	call := w.caller().say(t.Context(), "file the invoice")
	for _, b := range windows {
		b.asked()
	}
	// The buttons are pressed by the pages themselves: a click through the
	// browser would wait for the first page to have changed the second.
	pressed := make(chan string, len(windows))
	for _, b := range windows {
		go func() {
			b.read(`document.querySelector("[data-approve]").click(), "pressed"`)
			pressed <- "pressed"
		}()
	}
	for range windows {
		<-pressed
	}
	ends(t, call, "The drive says: "+saved)
	told := 0
	for _, b := range windows {
		b.Await("the window knows that it is decided", `!!document.querySelector("#inbox .empty") && !!document.querySelector(".note, .problem")`)
		switch sees := b.Sees(); {
		case strings.Contains(sees, "the first decision counts"):
			told++
		case !strings.Contains(sees, "Approved"):
			t.Errorf("a window shows\n%s", sees)
		}
	}
	if told != 1 {
		t.Errorf("%d of two were told that another has decided", told)
	}
	if n := w.drive.Executions(); len(n) != 1 || len(w.audit()) != 1 {
		t.Errorf("saved %v, decided %+v", n, w.audit())
	}
}
