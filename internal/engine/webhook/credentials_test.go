package webhook

import (
	"net/http"
	"strings"
	"testing"

	"github.com/beeos/beeos"
)

// TestSecretsStayHere: neither the database nor a log nor a delivery has
// token or secret in it, and what is sealed opens for its own webhook alone.
func TestSecretsStayHere(t *testing.T) {
	const token, secret, second = "very-private-token", "very-private-secret", "second-private-secret"
	r := newRig(t, sqliteDSN(t)).start()
	rec := newReceiver(t, func(_ int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusGone) })
	task := r.task()
	r.finish(task)
	w := r.register(task, rec.URL, token, secret)
	r.delivery(w, "given up", tried(1)) // which is logged
	r.register(task, rec.URL, token, second)
	kept, err := r.db.Webhooks.Get(t.Context(), task.ID, w.ID)
	if err != nil {
		t.Fatal(err)
	}
	if c, err := r.hooks.unseal(w.ID, kept.Sealed); err != nil || c.Token != token || c.Secret != second || c.Previous != secret {
		t.Errorf("%+v, %v", c, err)
	}
	if _, err := r.hooks.unseal("wh_other", kept.Sealed); err == nil {
		t.Error("another webhook's credentials can be opened")
	}
	if !strings.Contains(r.log.String(), "given up") {
		t.Errorf("nothing was logged: %s", r.log)
	}
	everything := r.log.String()
	for _, table := range []string{"webhooks", "webhook_deliveries"} {
		rows, err := r.db.QueryContext(t.Context(), "SELECT * FROM "+table)
		if err != nil {
			t.Fatal(err)
		}
		columns, err := rows.Columns()
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			values := make([]string, len(columns))
			into := make([]any, len(columns))
			for i := range values {
				into[i] = &values[i]
			}
			if err := rows.Scan(into...); err != nil {
				t.Fatal(err)
			}
			everything += strings.Join(values, " ")
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		rows.Close()
	}
	for _, private := range []string{token, secret, second} {
		if strings.Contains(everything, private) {
			t.Errorf("%q can be read", private)
		}
	}
}

func TestCredentialsAreChecked(t *testing.T) {
	r := newRig(t, sqliteDSN(t))
	task := r.task()
	for _, c := range []struct{ token, secret string }{
		{"a b", ""},
		{"a\r\nX-Evil: 1", ""},
		{"tökén", ""},
		{strings.Repeat("a", 4097), ""},
		{"", "fifteen-letters"},
		{"", strings.Repeat("a", 257)},
	} {
		_, err := r.hooks.Register(t.Context(), Registration{Turn: task.ID, Channel: task.Channel, Format: OpenAPI, URL: "http://127.0.0.1/", Token: c.token, Secret: c.secret})
		if beeos.CodeOf(err) != beeos.InvalidParam {
			t.Errorf("%.30q %.30q: %v", c.token, c.secret, err)
		}
	}
}
