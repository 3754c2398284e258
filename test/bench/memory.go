package main

import (
	"bufio"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// memory is what a server holds, in bytes.
type memory struct {
	live     int64 // heap that is reachable, and stacks
	resident int64
}

func (m memory) minus(o memory) memory {
	return memory{m.live - o.live, m.resident - o.resident}
}

// memory is read once the garbage is gone, by the server's own account and by
// the kernel's. It takes some collections until nothing is left to find: pools
// give back what nobody took during two, and work winds down in between.
func (s *beeosServer) memory() (memory, error) {
	var m memory
	for round := 0; ; round++ {
		now, err := s.collect()
		if err != nil {
			return m, err
		}
		settled := now.live > m.live-m.live/200
		m = now
		if round > 10 || round > 2 && settled {
			m.resident = s.rss()
			return m, nil
		}
	}
}

func (s *beeosServer) collect() (m memory, err error) {
	resp, err := http.Get("http://" + s.prof + "/debug/pprof/heap?gc=1&debug=1")
	if err != nil {
		return m, err
	}
	defer resp.Body.Close()
	found := 0
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		name, value, _ := strings.Cut(strings.TrimPrefix(lines.Text(), "# "), " = ")
		if name != "HeapAlloc" && name != "Stack" {
			continue
		}
		inUse, _, _ := strings.Cut(value, " / ") // what the system gave comes behind it
		n, err := strconv.ParseInt(inUse, 10, 64)
		if err != nil {
			return m, err
		}
		m.live += n
		found++
	}
	if found != 2 {
		return m, fmt.Errorf("%s does not tell how much memory is in use", s.prof)
	}
	return m, nil
}
