package beeos

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"
)

// TestSignatureVectors: what every SDK signs, byte for byte.
func TestSignatureVectors(t *testing.T) {
	text, err := os.ReadFile("sdk/spec/signatures.json")
	if err != nil {
		t.Fatal(err)
	}
	var spec struct {
		Seed      string `json:"seed"`
		PublicKey string `json:"public_key"`
		Vectors   []struct {
			Name          string `json:"name"`
			KeyID         string `json:"key_id"`
			Method        string `json:"method"`
			Path          string `json:"path"`
			Body          string `json:"body"`
			Time          int64  `json:"time"`
			Nonce         string `json:"nonce"`
			Text          string `json:"text"`
			Authorization string `json:"authorization"`
		} `json:"vectors"`
	}
	if err := json.Unmarshal(text, &spec); err != nil {
		t.Fatal(err)
	}
	seed, err := hex.DecodeString(spec.Seed)
	if err != nil || len(spec.Vectors) == 0 {
		t.Fatal(err, len(spec.Vectors))
	}
	key := ed25519.NewKeyFromSeed(seed)
	public := key.Public().(ed25519.PublicKey)
	if got := base64.StdEncoding.EncodeToString(public); got != spec.PublicKey {
		t.Errorf("public key %s, want %s", got, spec.PublicKey)
	}
	for _, v := range spec.Vectors {
		s := Signature{KeyID: v.KeyID, Timestamp: v.Time, Nonce: v.Nonce}
		if got := string(s.text(v.Method, v.Path, []byte(v.Body))); got != v.Text {
			t.Errorf("%s: signed %q, want %q", v.Name, got, v.Text)
		}
		if got := signAt(key, s, v.Method, v.Path, []byte(v.Body)); got != v.Authorization {
			t.Errorf("%s: %s, want %s", v.Name, got, v.Authorization)
		}
		read, ok := ParseSignature(v.Authorization)
		if !ok || !read.Verify(public, v.Method, v.Path, []byte(v.Body)) {
			t.Errorf("%s: not good", v.Name)
		}
	}
}
