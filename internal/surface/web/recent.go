package web

import (
	"sync"
	"time"
)

const (
	freshFor  = 5 * time.Second
	maxRecent = 1000
)

// recent keeps for a moment what was read: open pages look every second, and some of
// what they show changes slowly and is dear to read.
type recent[T any] struct {
	mu   sync.Mutex
	kept map[string]keptValue[T]
}

type keptValue[T any] struct {
	at    time.Time
	value T
}

// get returns what is kept under the key, or reads it. The key says who looks, so that
// nobody is shown what somebody else may see.
func (r *recent[T]) get(now time.Time, key string, read func() (T, error)) (T, error) {
	r.mu.Lock()
	k, ok := r.kept[key]
	r.mu.Unlock()
	if age := now.Sub(k.at); ok && age >= 0 && age < freshFor {
		return k.value, nil
	}
	value, err := read()
	if err != nil {
		return value, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.kept == nil || len(r.kept) >= maxRecent {
		r.kept = map[string]keptValue[T]{}
	}
	r.kept[key] = keptValue[T]{now, value}
	return value, nil
}
