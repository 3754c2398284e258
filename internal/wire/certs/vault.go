package certs

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"slices"
	"time"

	"golang.org/x/crypto/acme/autocert"

	"github.com/beeos/beeos/internal/wire/seal"
)

// Store is where certificates are kept, for all nodes.
type Store interface {
	GetCertificate(ctx context.Context, name string) ([]byte, error) // nil = there is none
	PutCertificate(ctx context.Context, name string, sealed []byte) error
	DropCertificate(ctx context.Context, name string) error
	HoldOrder(ctx context.Context, name, holder string, now, until time.Time) (bool, error)
	ReleaseOrder(ctx context.Context, name, holder string) error
}

// vault is autocert's cache over a Store, sealed. Beside certificates it holds the
// account with the authority and the answers to its challenges, so that any node
// can give them. Whoever asks it for a certificate that has to be ordered either
// holds the order from then on, or waits for the node that does.
type vault struct {
	store  Store
	sealer *seal.Sealer
	place  func(name string) string
	holder string
	names  []string // that there are certificates for
	now    func() time.Time
}

const (
	orderFor  = 90 * time.Second // an order takes seconds; a node that died holds it that long
	orderLook = 250 * time.Millisecond
)

// Get implements autocert.Cache.
func (v *vault) Get(ctx context.Context, key string) ([]byte, error) {
	for {
		text, err := v.read(ctx, key)
		if err != nil {
			return nil, err
		}
		ordered := slices.Contains(v.names, key)
		if text != nil && (!ordered || !v.isDue(text)) {
			return text, nil
		}
		if !ordered {
			return nil, autocert.ErrCacheMiss
		}
		at := v.now()
		mine, err := v.store.HoldOrder(ctx, key, v.holder, at, at.Add(orderFor))
		if err != nil {
			return nil, err
		}
		if mine {
			return v.begin(ctx, key)
		}
		select {
		case <-time.After(orderLook):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// begin begins an order that is ours, unless another node has just ended it.
func (v *vault) begin(ctx context.Context, key string) ([]byte, error) {
	text, err := v.read(ctx, key)
	switch {
	case err != nil:
		return nil, err
	case text == nil:
		return nil, autocert.ErrCacheMiss
	case !v.isDue(text):
		v.release(ctx, key)
	}
	return text, nil
}

// Put implements autocert.Cache. A certificate that has come ends its order.
func (v *vault) Put(ctx context.Context, key string, text []byte) error {
	if err := v.store.PutCertificate(ctx, key, v.sealer.Seal(nil, text, v.place(key))); err != nil {
		return err
	}
	if slices.Contains(v.names, key) {
		v.release(ctx, key)
	}
	return nil
}

// Delete implements autocert.Cache.
func (v *vault) Delete(ctx context.Context, key string) error {
	return v.store.DropCertificate(ctx, key)
}

// release ends our order. One that stays behind ends by itself.
func (v *vault) release(ctx context.Context, key string) {
	v.store.ReleaseOrder(ctx, key, v.holder) //nolint:errcheck // as above
}

func (v *vault) read(ctx context.Context, key string) ([]byte, error) {
	sealed, err := v.store.GetCertificate(ctx, key)
	if err != nil || sealed == nil {
		return nil, err
	}
	text, err := v.sealer.Open(sealed, v.place(key))
	if err != nil {
		return nil, fmt.Errorf("open the certificate of %s: %w", key, err)
	}
	return text, nil
}

// isDue reports whether the library would order a certificate anew: in the last
// third of its life, or of 90 days.
func (v *vault) isDue(text []byte) bool {
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		leaf, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return true
		}
		return leaf.NotAfter.Sub(v.now()) <= min(leaf.NotAfter.Sub(leaf.NotBefore)/3, 30*24*time.Hour)
	}
	return true
}
