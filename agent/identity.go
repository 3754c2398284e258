package agent

import (
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// identity is the key pair of this agent, and what the gateways that it joined
// call it. It lives in a file that only its user can read; processes that
// serve the same agent share it.
type identity struct {
	path string
	key  ed25519.PrivateKey

	mu        sync.Mutex
	instances map[string]string // gateway -> instance id
}

type identityFile struct {
	PrivateKey []byte            `json:"private_key"` // the seed
	Instances  map[string]string `json:"instances"`
}

// openIdentity reads the file, or makes it with a new key.
func openIdentity(path string) (*identity, error) {
	id, err := readIdentity(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return id, err
	}
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		return nil, fmt.Errorf("make an identity: %w", err)
	}
	id = &identity{path: path, key: key, instances: map[string]string{}}
	err = id.write(os.Link) // fails when another process was faster
	if errors.Is(err, fs.ErrExist) {
		return readIdentity(path)
	}
	return id, err
}

// WriteIdentity makes the file of an identity that is registered with a gateway
// already, under the id instance, for those who set a machine up beforehand. A
// file that is there is replaced.
func WriteIdentity(path, gateway, instance string, key ed25519.PrivateKey) error {
	id := &identity{path: path, key: key, instances: map[string]string{strings.TrimRight(gateway, "/"): instance}}
	return id.write(os.Rename)
}

func readIdentity(path string) (*identity, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the identity: %w", err)
	}
	var f identityFile
	if err := json.Unmarshal(text, &f); err != nil || len(f.PrivateKey) != ed25519.SeedSize {
		return nil, fmt.Errorf("%s is not an agent's identity; move it away and a new one is made", path)
	}
	if f.Instances == nil {
		f.Instances = map[string]string{}
	}
	return &identity{path: path, key: ed25519.NewKeyFromSeed(f.PrivateKey), instances: f.Instances}, nil
}

// write puts the file in place as a whole, by link or rename.
func (id *identity) write(place func(from, to string) error) error {
	if err := os.MkdirAll(filepath.Dir(id.path), 0o700); err != nil {
		return fmt.Errorf("make a folder for the identity; set Options.Identity to a file that can be written: %w", err)
	}
	text, err := json.MarshalIndent(identityFile{PrivateKey: id.key.Seed(), Instances: id.instances}, "", "  ")
	if err != nil {
		return fmt.Errorf("write the identity: %w", err)
	}
	tmp, err := os.CreateTemp(filepath.Dir(id.path), ".identity-*") // made with mode 0600
	if err != nil {
		return fmt.Errorf("write the identity; set Options.Identity to a file that can be written: %w", err)
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(text)
	if err = errors.Join(err, tmp.Close()); err != nil {
		return fmt.Errorf("write the identity: %w", err)
	}
	if err := place(tmp.Name(), id.path); err != nil {
		return fmt.Errorf("write the identity: %w", err)
	}
	return nil
}

// instance is what the gateway calls this identity; empty = not joined.
func (id *identity) instance(gateway string) string {
	id.mu.Lock()
	defer id.mu.Unlock()
	return id.instances[gateway]
}

func (id *identity) joined(gateway, instance string) error {
	id.mu.Lock()
	defer id.mu.Unlock()
	id.instances[gateway] = instance
	return id.write(os.Rename)
}

func (id *identity) forget(gateway string) {
	id.mu.Lock()
	defer id.mu.Unlock()
	delete(id.instances, gateway)
}
