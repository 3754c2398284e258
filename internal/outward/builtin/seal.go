package builtin

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/beeos/beeos/internal/store"
)

// seal encrypts what lies in the database with a key that all nodes share.
type seal struct{ aead cipher.AEAD }

func openSeal(ctx context.Context, db *store.Store) (*seal, error) {
	key, err := db.Cluster.Secret(ctx, "skills", func() []byte {
		var b [32]byte
		rand.Read(b[:]) //nolint:errcheck // crypto/rand never fails since Go 1.24
		return b[:]
	})
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("the key for skills is not usable: %w", err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, fmt.Errorf("the key for skills is not usable: %w", err)
	}
	return &seal{aead}, nil
}

// close encrypts text for one place: elsewhere it does not open.
func (s *seal) close(text []byte, place string) []byte {
	return s.aead.Seal(nil, nil, text, []byte(place))
}

func (s *seal) open(sealed []byte, place string) ([]byte, error) {
	text, err := s.aead.Open(nil, nil, sealed, []byte(place))
	if err != nil {
		return nil, errors.New("it was sealed with another key, or for another place")
	}
	return text, nil
}
