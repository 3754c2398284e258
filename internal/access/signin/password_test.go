package signin

import (
	"strings"
	"testing"
)

func TestPasswordFitsItsHashAlone(t *testing.T) {
	ctx := t.Context()
	hash, err := HashPassword(ctx, "correct horse")
	if err != nil || strings.Contains(hash, "horse") {
		t.Fatalf("%s, %v", hash, err)
	}
	for _, tt := range []struct {
		hash, password string
		want           bool
	}{{hash, "correct horse", true}, {hash, "Correct horse", false}, {hash, "", false}, {"", "correct horse", false}, {"", "", false}} {
		if got, err := CheckPassword(ctx, tt.hash, tt.password); got != tt.want || err != nil {
			t.Errorf("%q: %v, %v", tt.password, got, err)
		}
	}
	for _, bad := range []string{"plain", hash[:40], "$argon2id$v=19$m=0,t=0,p=0$AAAA$AAAA"} {
		if ok, err := CheckPassword(ctx, bad, "x"); ok || err == nil {
			t.Errorf("%q: %v, %v", bad, ok, err)
		}
	}
}
