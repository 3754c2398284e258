package courier

import (
	"net/http"
	"testing"
	"time"
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
		Sign(h, "whd_1", tt.secrets, at, []byte(body))
		if got := h.Get(HeaderSignature); got != tt.ours {
			t.Errorf("%s: %s", tt.name, got)
		}
		if got := h.Get(HeaderStandard); got != tt.standard {
			t.Errorf("%s: %s", tt.name, got)
		}
		if h.Get(HeaderID) != "whd_1" || h.Get(HeaderTimestamp) != "1893456000" {
			t.Errorf("%s: %v", tt.name, h)
		}
	}
}
