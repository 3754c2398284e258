package bus

import (
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"time"
)

// Certificates of the mesh never expire on their own: a node makes its own one
// when it starts, and clocks of nodes that differ must not keep them apart.
var (
	meshSince = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	meshUntil = time.Date(2120, 1, 1, 0, 0, 0, 0, time.UTC)
)

// meshTLS is how the nodes of a mesh know each other. All derive the same
// authority from the secret that they share in the database, and each signs a
// certificate for itself with it: there is nothing to distribute. Whoever has
// such a certificate is a node, at whichever address it is found.
func meshTLS(secret, node string) (*tls.Config, error) {
	seed, err := hkdf.Key(sha256.New, []byte(secret), nil, "beeos mesh authority", ed25519.SeedSize)
	if err != nil {
		return nil, fmt.Errorf("derive the mesh authority: %w", err)
	}
	authorityKey := ed25519.NewKeyFromSeed(seed)
	authority := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "beeos mesh"}, NotBefore: meshSince, NotAfter: meshUntil,
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, authority, authority, authorityKey.Public(), authorityKey)
	if err != nil {
		return nil, fmt.Errorf("sign the mesh authority: %w", err)
	}
	if authority, err = x509.ParseCertificate(der); err != nil {
		return nil, fmt.Errorf("read the mesh authority: %w", err)
	}
	public, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a mesh key: %w", err)
	}
	der, err = x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: node}, NotBefore: meshSince, NotAfter: meshUntil,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, authority, public, authorityKey)
	if err != nil {
		return nil, fmt.Errorf("sign the mesh certificate: %w", err)
	}
	nodes := x509.NewCertPool()
	nodes.AddCert(authority)
	return &tls.Config{
		MinVersion:         tls.VersionTLS13,
		Certificates:       []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
		ClientAuth:         tls.RequireAndVerifyClientCert,
		ClientCAs:          nodes,
		InsecureSkipVerify: true, // of the name alone: VerifyConnection checks whose certificate it is
		VerifyConnection: func(state tls.ConnectionState) error {
			if len(state.PeerCertificates) == 0 {
				return errors.New("the other side has no mesh certificate")
			}
			_, err := state.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: nodes, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}})
			return err
		},
	}, nil
}
