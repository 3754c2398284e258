package agent

import (
	"crypto/ed25519"
	"os"
	"path/filepath"
	"testing"
)

func TestWriteIdentity(t *testing.T) {
	path := filepath.Join(t.TempDir(), "below", "id.json")
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, instance := range []string{"one", "two"} { // the second replaces the first
		if err := WriteIdentity(path, "http://gateway/", instance, key); err != nil {
			t.Fatal(err)
		}
		id, err := openIdentity(path)
		if err != nil || !id.key.Equal(key) || id.instance("http://gateway") != instance {
			t.Errorf("%s: %+v, %v", instance, id, err)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("others may read it: %v, %v", info, err)
	}
}
