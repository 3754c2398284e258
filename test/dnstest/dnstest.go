// Package dnstest is a name server for tests: it has one answer to every
// question, which may change between two of them.
package dnstest

import (
	"bytes"
	"context"
	"encoding/binary"
	"net"
	"net/netip"
	"testing"
)

// Resolver returns a resolver that asks a server of the test's own. Every name
// has the IPv4 addresses that answers returns at the time.
func Resolver(t testing.TB, answers func() []string) *net.Resolver {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	go func() {
		buf := make([]byte, 1500)
		for {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			conn.WriteTo(answer(buf[:n], answers()), from) //nolint:errcheck // it asks again
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

// answer answers an A question with the addresses, any other with none.
func answer(question []byte, ips []string) []byte {
	end := 12
	for question[end] != 0 {
		end += int(question[end]) + 1
	}
	end += 5 // the root, type and class
	kind := binary.BigEndian.Uint16(question[end-4:])
	out := bytes.Clone(question[:end])
	out[2], out[3] = 0x81, 0x80 // an answer, and recursion
	copy(out[6:12], make([]byte, 6))
	if kind != 1 {
		return out
	}
	for _, ip := range ips {
		out[7]++
		out = append(out, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4)
		out = append(out, netip.MustParseAddr(ip).AsSlice()...)
	}
	return out
}
