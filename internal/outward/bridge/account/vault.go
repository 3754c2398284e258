package account

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/beeos/beeos/internal/outward/oauthclient"
)

// vault keeps what issuers gave for one server in a file that only its user
// can read. Another agent, server or client has another file.
type vault struct {
	path string

	mu   sync.Mutex
	kept keptTokens
}

type keptTokens struct {
	Server   string                         `json:"server"` // for people who look into the folder
	Redirect string                         `json:"redirect"`
	Last     string                         `json:"last"`
	Sessions map[string]oauthclient.Session `json:"sessions"` // by issuer
}

func openVault(o *Client, server string) (*vault, error) {
	folder := o.Folder
	if folder == "" {
		dir, err := os.UserConfigDir()
		if err != nil { // most servers want no tokens; one that does is told
			return &vault{kept: keptTokens{Sessions: map[string]oauthclient.Session{}}}, nil
		}
		folder = filepath.Join(dir, "beeos", "tokens")
	}
	sum := sha256.Sum256([]byte(strings.Join([]string{o.Name, server, o.ClientID}, "\x00")))
	v := &vault{path: filepath.Join(folder, fmt.Sprintf("%x.json", sum[:12]))}
	text, err := os.ReadFile(v.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the tokens: %w", err)
	}
	if err == nil && json.Unmarshal(text, &v.kept) != nil {
		return nil, fmt.Errorf("%s does not hold tokens; move it away", v.path)
	}
	if v.kept.Sessions == nil {
		v.kept.Sessions = map[string]oauthclient.Session{}
	}
	v.kept.Server = server
	return v, nil
}

// Last is the session that was put last.
func (v *vault) Last(ctx context.Context) (*oauthclient.Session, error) {
	v.mu.Lock()
	last := v.kept.Last
	v.mu.Unlock()
	return v.With(ctx, last)
}

// With is the session with an issuer.
func (v *vault) With(_ context.Context, issuer string) (*oauthclient.Session, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	s, ok := v.kept.Sessions[issuer]
	if !ok {
		return nil, nil
	}
	return &s, nil
}

// Put keeps a session.
func (v *vault) Put(_ context.Context, s oauthclient.Session) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.kept.Sessions[s.Issuer], v.kept.Last = s, s.Issuer
	return v.write()
}

// write replaces the file as a whole. v.mu is held.
func (v *vault) write() error {
	if v.path == "" {
		return errors.New("nowhere to keep tokens: the user has no configuration folder; set HOME or XDG_CONFIG_HOME")
	}
	text, err := json.MarshalIndent(v.kept, "", "  ")
	if err != nil {
		return fmt.Errorf("keep the tokens: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(v.path), 0o700); err != nil {
		return fmt.Errorf("keep the tokens: %w", err)
	}
	tmp, err := os.CreateTemp(filepath.Dir(v.path), ".tokens-*") // made with mode 0600
	if err != nil {
		return fmt.Errorf("keep the tokens: %w", err)
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(text)
	if err = errors.Join(err, tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), v.path)
	}
	if err != nil {
		return fmt.Errorf("keep the tokens: %w", err)
	}
	return nil
}
