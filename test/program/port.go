package program

import (
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
)

var ports struct {
	sync.Mutex
	given map[int]bool
}

// FreePort returns a loopback port that nothing listens on and that it has not
// returned before. It lies below those that the system hands out for outgoing
// connections: an agent that dials a dead server again and again would sooner
// or later be given the server's port.
func FreePort() (int, error) {
	ports.Lock()
	defer ports.Unlock()
	if ports.given == nil {
		ports.given = map[int]bool{}
	}
	for range 1000 {
		port := 20000 + rand.IntN(12000)
		ln, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port))
		if err != nil || ports.given[port] {
			continue
		}
		ln.Close() //nolint:errcheck // nothing was accepted
		ports.given[port] = true
		return port, nil
	}
	return 0, errors.New("no free port")
}
