package certs

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/crypto/acme/autocert"

	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/internal/store/cluster"
	"github.com/beeos/beeos/internal/store/storetest"
	"github.com/beeos/beeos/internal/wire/seal"
)

const host = "bee.example.com"

// node is a vault with a clock of its own.
type node struct {
	*vault
	ahead atomic.Int64
}

func newNode(t *testing.T, db *store.Store, name string) *node {
	t.Helper()
	key, err := db.Cluster.Secret(t.Context(), cluster.CertificatesSealedWith, seal.NewKey)
	if err != nil {
		t.Fatal(err)
	}
	sealer, err := seal.New(key)
	if err != nil {
		t.Fatal(err)
	}
	n := &node{}
	n.vault = &vault{
		store: db.Cluster, sealer: sealer, place: cluster.CertificatePlace, holder: name, names: []string{host},
		now: func() time.Time { return time.Now().Add(time.Duration(n.ahead.Load())) },
	}
	return n
}

// made is a certificate as autocert keeps it, good for a while from now on.
func made(t *testing.T, serial int64, from time.Time, lasts time.Duration) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := &x509.Certificate{SerialNumber: big.NewInt(serial), DNSNames: []string{host}, NotBefore: from, NotAfter: from.Add(lasts)}
	der, err := x509.CreateCertificate(rand.Reader, about, about, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return append(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: secret}), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})...)
}

type got struct {
	text []byte
	err  error
}

// get asks in the background: it may have to wait.
func (n *node) get(ctx context.Context, key string) <-chan got {
	answer := make(chan got, 1)
	go func() {
		text, err := n.Get(ctx, key)
		answer <- got{text, err}
	}()
	return answer
}

// TestNodesOrderOneAfterTheOther: one node orders, the others get what it got.
func TestNodesOrderOneAfterTheOther(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		ctx := t.Context()
		a, b := newNode(t, db, "a"), newNode(t, db, "b")
		for range 2 { // who orders already may ask again
			if _, err := a.Get(ctx, host); !errors.Is(err, autocert.ErrCacheMiss) {
				t.Fatalf("nothing is there: %v", err)
			}
		}
		waiting := b.get(ctx, host)
		first := made(t, 1, time.Now(), 90*24*time.Hour)
		select {
		case g := <-waiting:
			t.Fatalf("another node orders as well: %v", g.err)
		case <-time.After(2 * orderLook):
		}
		if err := a.Put(ctx, host, first); err != nil {
			t.Fatal(err)
		}
		if g := <-waiting; g.err != nil || !bytes.Equal(g.text, first) {
			t.Fatalf("the other node has %q, %v", g.text, g.err)
		}

		// In its last third the same begins again, with the old one to show.
		for _, n := range []*node{a, b} {
			n.ahead.Store(int64(61 * 24 * time.Hour))
		}
		if text, err := b.Get(ctx, host); err != nil || !bytes.Equal(text, first) {
			t.Fatalf("the one who renews: %v", err)
		}
		waiting = a.get(ctx, host)
		second := made(t, 2, time.Now().Add(61*24*time.Hour), 90*24*time.Hour)
		if err := b.Put(ctx, host, second); err != nil {
			t.Fatal(err)
		}
		if g := <-waiting; g.err != nil || !bytes.Equal(g.text, second) {
			t.Fatalf("the other node has %q, %v", g.text, g.err)
		}
		sealed, err := db.Cluster.GetCertificate(ctx, host)
		if err != nil || len(sealed) == 0 || bytes.Contains(sealed, []byte("PRIVATE")) {
			t.Errorf("%d bytes in the database, %v", len(sealed), err)
		}
	})
}

// TestOrderOfDeadNodeGoesOn: a node that died over an order does not keep it.
func TestOrderOfDeadNodeGoesOn(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		dead, alive := newNode(t, db, "dead"), newNode(t, db, "alive")
		if _, err := dead.Get(t.Context(), host); !errors.Is(err, autocert.ErrCacheMiss) {
			t.Fatal(err)
		}
		waiting := alive.get(t.Context(), host)
		alive.ahead.Store(int64(orderFor + time.Second))
		if g := <-waiting; !errors.Is(g.err, autocert.ErrCacheMiss) {
			t.Errorf("%q, %v", g.text, g.err)
		}
	})
}

// TestAnswersAreEverywhere: any node can answer what the authority asks about an
// order of another, and nobody waits for what nobody orders.
func TestAnswersAreEverywhere(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		ctx, a, b := t.Context(), newNode(t, db, "a"), newNode(t, db, "b")
		if _, err := a.Get(ctx, "token+http-01"); !errors.Is(err, autocert.ErrCacheMiss) {
			t.Errorf("%v", err)
		}
		if err := a.Put(ctx, "token+http-01", []byte("answer")); err != nil {
			t.Fatal(err)
		}
		if text, err := b.Get(ctx, "token+http-01"); err != nil || string(text) != "answer" {
			t.Errorf("%q, %v", text, err)
		}
		if err := b.Delete(ctx, "token+http-01"); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Get(ctx, "token+http-01"); !errors.Is(err, autocert.ErrCacheMiss) {
			t.Errorf("%v", err)
		}
	})
}

// TestStrangeNamesAreNotOrdered: what others send as a name reaches no authority.
func TestStrangeNamesAreNotOrdered(t *testing.T) {
	a := NewACME(Options{Names: []string{host}})
	for name, ok := range map[string]bool{host: true, host + ":5002": true, "BEE.example.com": true, "evil.example": false, "x." + host: false, "": false} {
		if err := a.checkHost(t.Context(), name); (err == nil) != ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}
