package signin

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"strings"

	"golang.org/x/crypto/argon2"
)

// Parameters of argon2id: 19 MiB and two passes, about 50 ms.
const (
	argonMemory  = 19 * 1024
	argonTime    = 2
	argonThreads = 1
	argonSalt    = 16
	argonKey     = 32
)

// hashing bounds how much memory all sign-ins of a moment can take.
var hashing = make(chan struct{}, 4)

// HashPassword returns what to keep of a password.
func HashPassword(ctx context.Context, password string) (string, error) {
	salt := make([]byte, argonSalt)
	rand.Read(salt) //nolint:errcheck // crypto/rand never fails since Go 1.24
	key, err := stretch(ctx, password, salt, argonMemory, argonTime, argonThreads, argonKey)
	if err != nil {
		return "", err
	}
	enc := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, argonMemory, argonTime, argonThreads,
		enc.EncodeToString(salt), enc.EncodeToString(key)), nil
}

// nobody is checked where there is no user, so that the answer takes as long
// as for a wrong password.
const nobody = "$argon2id$v=19$m=19456,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

// CheckPassword reports whether the password is the one that was hashed. An
// empty hash, of a user who is not there or has no password, fits nothing.
func CheckPassword(ctx context.Context, hash, password string) (bool, error) {
	known := hash != ""
	if !known {
		hash = nobody
	}
	var version, memory, time int
	var threads uint8
	var rest string
	if _, err := fmt.Sscanf(hash, "$argon2id$v=%d$m=%d,t=%d,p=%d$%s", &version, &memory, &time, &threads, &rest); err != nil || version != argon2.Version {
		return false, fmt.Errorf("check password: the stored hash has an unknown form")
	}
	saltText, keyText, _ := strings.Cut(rest, "$")
	salt, err1 := base64.RawStdEncoding.DecodeString(saltText)
	want, err2 := base64.RawStdEncoding.DecodeString(keyText)
	if err1 != nil || err2 != nil || len(want) == 0 || memory <= 0 || time <= 0 || threads == 0 {
		return false, fmt.Errorf("check password: the stored hash is damaged")
	}
	got, err := stretch(ctx, password, salt, uint32(memory), uint32(time), threads, uint32(len(want)))
	if err != nil {
		return false, err
	}
	return subtle.ConstantTimeCompare(got, want) == 1 && known, nil
}

func stretch(ctx context.Context, password string, salt []byte, memory, time uint32, threads uint8, size uint32) ([]byte, error) {
	select {
	case hashing <- struct{}{}:
		defer func() { <-hashing }()
		return argon2.IDKey([]byte(password), salt, time, memory, threads, size), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
