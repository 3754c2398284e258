package webhook

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos"
)

// TestSignatureVectors: the same vectors as in the recipes of
// docs/how-to/webhooks.md, which test/docs runs in three languages.
func TestSignatureVectors(t *testing.T) {
	at := time.Unix(1893456000, 0)
	body := `{"type":"task_status","task_id":"t1","context_id":"ch-1","status":"completed","final":true,"timestamp":"2030-01-01T00:00:00Z"}`
	for _, tt := range []struct {
		name     string
		secrets  []string
		ours     string
		standard string
	}{
		{"one", []string{"0123456789abcdef"}, "t=1893456000,v1=ae2ab8a841d0c966c664d19abc7873ecd1dcd812a90a251031fdc1fe8dcce71f", "v1,foTXuoyCRwG1LSgnzYynIzBoubGcbe3Ue6O6KxRDjmM="},
		{"standard", []string{"whsec_MDEyMzQ1Njc4OWFiY2RlZg=="}, "t=1893456000,v1=013240084246658b5473715bb002e4d5327ee1301ce623befa8d1c6f646e3265", "v1,foTXuoyCRwG1LSgnzYynIzBoubGcbe3Ue6O6KxRDjmM="},
		{"two", []string{"0123456789abcdef", "fedcba9876543210"}, "t=1893456000,v1=ae2ab8a841d0c966c664d19abc7873ecd1dcd812a90a251031fdc1fe8dcce71f,v1=b03a621e3970783b6ea6be874ea88b2c201d5b934a518023986e139c64306e0a", "v1,foTXuoyCRwG1LSgnzYynIzBoubGcbe3Ue6O6KxRDjmM= v1,na5IPBvE2Jg3zC8ZWjxZQjL0A0Uj4kpvPKF7+6/KUqc="},
		{"none", nil, "", ""},
	} {
		h := http.Header{}
		sign(h, "whd_1", tt.secrets, at, []byte(body))
		if got := h.Get(headerSignature); got != tt.ours {
			t.Errorf("%s: %s", tt.name, got)
		}
		if got := h.Get(headerStandard); got != tt.standard {
			t.Errorf("%s: %s", tt.name, got)
		}
		if h.Get(headerID) != "whd_1" || h.Get(headerTimestamp) != "1893456000" {
			t.Errorf("%s: %v", tt.name, h)
		}
	}
}

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
		{strings.Repeat("a", maxToken+1), ""},
		{"", "fifteen-letters"},
		{"", strings.Repeat("a", maxSecret+1)},
	} {
		_, err := r.hooks.Register(t.Context(), Registration{Turn: task.ID, Channel: task.Channel, Format: OpenAPI, URL: "http://127.0.0.1/", Token: c.token, Secret: c.secret})
		if beeos.CodeOf(err) != beeos.InvalidParam {
			t.Errorf("%.30q %.30q: %v", c.token, c.secret, err)
		}
	}
}
