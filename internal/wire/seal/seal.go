// Package seal encrypts what others keep for us: secrets in the database, which
// must not be there to be read in a backup, and names that clients bring back.
// What is sealed for one place does not open anywhere else.
package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
)

// Sealer seals with one key, which all nodes share.
type Sealer struct{ aead cipher.AEAD }

// New returns a sealer for a key of 32 bytes.
func New(key []byte) (*Sealer, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("the key that seals secrets is not usable: %w", err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, fmt.Errorf("the key that seals secrets is not usable: %w", err)
	}
	return &Sealer{aead}, nil
}

// NewKey returns a key at random.
func NewKey() []byte {
	key := make([]byte, 32)
	rand.Read(key) //nolint:errcheck // crypto/rand never fails since Go 1.24
	return key
}

// Seal encrypts text for one place and appends it to dst.
func (s *Sealer) Seal(dst, text []byte, place string) []byte {
	return s.aead.Seal(dst, nil, text, []byte(place))
}

// Open decrypts what was sealed for a place.
func (s *Sealer) Open(sealed []byte, place string) ([]byte, error) {
	text, err := s.aead.Open(nil, nil, sealed, []byte(place))
	if err != nil {
		return nil, errors.New("it was sealed with another key, or for another place")
	}
	return text, nil
}

// SealJSON seals v as JSON.
func (s *Sealer) SealJSON(v any, place string) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode what is sealed: %w", err)
	}
	return s.Seal(nil, text, place), nil
}

// OpenJSON reads into v what SealJSON sealed.
func (s *Sealer) OpenJSON(sealed []byte, place string, v any) error {
	text, err := s.Open(sealed, place)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, v)
}
