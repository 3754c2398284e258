package auth

import (
	"sync"
	"time"
)

// LastUsed collects when credentials were used, for people to look at, until it
// is time to write that down.
type LastUsed struct {
	mu sync.Mutex
	at map[string]time.Time
}

// Note says that a credential was used.
func (l *LastUsed) Note(id string, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.at == nil {
		l.at = map[string]time.Time{}
	}
	if at.After(l.at[id]) {
		l.at[id] = at
	}
}

// Flush writes what was collected. What could not be written stays for the
// next time.
func (l *LastUsed) Flush(write func(map[string]time.Time) error) error {
	l.mu.Lock()
	used := l.at
	l.at = nil
	l.mu.Unlock()
	err := write(used)
	if err != nil {
		for id, at := range used {
			l.Note(id, at)
		}
	}
	return err
}
