package webhook

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"code.dny.dev/ssrf"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store"
)

// special is one address of every range that is not the public Internet, or
// leads back out of it.
var special = []string{
	"0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "127.0.0.1", "127.255.255.254", "169.254.169.254", "169.254.170.2", "172.16.0.1", "172.31.255.1",
	"192.0.0.1", "192.0.0.170", "192.0.2.1", "192.88.99.1", "192.168.0.1", "198.18.0.1", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255",
	"::", "::1", "::ffff:127.0.0.1", "::ffff:169.254.169.254", "64:ff9b::7f00:1", "64:ff9b:1::1", "100::1", "2001::1", "2001:db8::1", "2002:7f00:1::",
	"3fff::1", "5f00::1", "fc00::1", "fd00:ec2::254", "fe80::1", "fec0::1", "ff02::1",
}

// TestT48PrivateAddressesAreRefused: at registration and at the dial, however
// they are written.
func TestT48PrivateAddressesAreRefused(t *testing.T) {
	g := newGuard(false, resolverOf(t, "127.0.0.1"))
	refused := func(url string) {
		t.Helper()
		if err := g.checkURL(t.Context(), url); beeos.CodeOf(err) != beeos.InvalidParam {
			t.Errorf("registering %s: %v", url, err)
		}
	}
	unreachable := func(url string) {
		t.Helper()
		refused(url)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		if resp, err := g.client().Do(req); err == nil {
			resp.Body.Close()
			t.Errorf("%s was sent to", url)
		}
	}
	for _, ip := range special {
		addr := netip.MustParseAddr(ip)
		unreachable("http://" + netip.AddrPortFrom(addr, 80).String() + "/")
		if err := g.safe(networkOf(addr), netip.AddrPortFrom(addr, 443).String(), nil); !errors.Is(err, ssrf.ErrProhibitedIP) {
			t.Errorf("dialling %s: %v", ip, err)
		}
	}
	for _, url := range []string{
		"http://0x7f.1/", "http://2130706433/", "http://0177.0.0.1/", "http://127.1/", "http://127.0.0.1./", "http://[::]/", "http://[::ffff:7f00:1]/",
		"http://localhost", "http://localhost.:80/", "http://LOCALHOST/", "http://inside.test/",
		"ftp://8.8.8.8/", "gopher://8.8.8.8/", "file:///etc/passwd", "unix:///run/x.sock",
	} {
		unreachable(url)
	}
	for _, at := range []string{"8.8.8.8:22", "8.8.8.8:6379", "8.8.8.8:25"} {
		refused("http://" + at + "/")
		if err := g.safe("tcp4", at, nil); !errors.Is(err, ssrf.ErrProhibitedPort) {
			t.Errorf("dialling %s: %v", at, err)
		}
	}
	for _, url := range []string{
		"http://8.8.8.8:0/", "http://8.8.8.8:99999/",
		"http://user@8.8.8.8/", "http://user:password@8.8.8.8/", "https://8.8.8.8/#x",
		"javascript:alert(1)", "//8.8.8.8/", "8.8.8.8", "", "http://", "http:///x",
		"http://[fe80::1%25eth0]/", "http://8.8.8.8 /", "http://8.8.8.8\n/", "https://8.8.8.8/" + strings.Repeat("a", maxURL),
	} {
		refused(url)
	}
	for _, url := range []string{"https://8.8.8.8/hook?x=1", "http://8.8.8.8/", "https://[2606:4700:4700::1111]:8443/"} {
		if err := g.checkURL(t.Context(), url); err != nil {
			t.Errorf("%s: %v", url, err)
		}
	}
	private := newGuard(true, nil)
	for _, ip := range []string{"127.0.0.1", "10.0.0.1", "192.168.1.1", "172.16.0.1", "::1", "fd12::1"} {
		if err := private.checkURL(t.Context(), "http://"+netip.AddrPortFrom(netip.MustParseAddr(ip), 1234).String()); err != nil {
			t.Errorf("%s is refused though it is allowed: %v", ip, err)
		}
	}
	for _, ip := range []string{"169.254.169.254", "fd00:ec2::254", "0.0.0.0", "fe80::1", "224.0.0.1"} { // never
		if err := private.checkURL(t.Context(), "http://"+netip.AddrPortFrom(netip.MustParseAddr(ip), 80).String()); err == nil {
			t.Errorf("%s is allowed", ip)
		}
	}
}

// TestT49Rebinding: a name that was public when it was registered and is not
// any more when something is sent.
func TestT49Rebinding(t *testing.T) {
	var dialled atomic.Int64
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { dialled.Add(1) }))
	t.Cleanup(inside.Close)
	answers := []string{"8.8.8.8"}
	var at atomic.Pointer[[]string]
	at.Store(&answers)
	r := newRig(t, sqliteDSN(t), func(o *Options) {
		o.AllowPrivate, o.Resolver = false, resolver(t, func() []string { return *at.Load() })
	})
	task := r.task()
	r.finish(task)
	w := r.register(task, "http://rebind.test:8080/", "", "0123456789abcdef")
	at.Store(&[]string{"127.0.0.1"})
	r.start()
	d := r.delivery(w, "refused", tried(1))
	if d.Status != store.DeliveryFailed || d.Response != 0 || !strings.Contains(d.Error, "not in the public Internet") || strings.Contains(d.Error, "127.0.0.1") {
		t.Errorf("%+v", d)
	}
	if dialled.Load() != 0 {
		t.Error("it was sent all the same")
	}
	// Of two addresses one is enough to be refused.
	at.Store(&[]string{"8.8.8.8", "10.0.0.1"})
	if err := r.hooks.guard.checkURL(t.Context(), "http://rebind.test/"); beeos.CodeOf(err) != beeos.InvalidParam {
		t.Errorf("a name with a private address: %v", err)
	}
}

// TestT50RedirectsAreNotFollowed: they count as a failure.
func TestT50RedirectsAreNotFollowed(t *testing.T) {
	inside := newReceiver(t, nil)
	r := newRig(t, sqliteDSN(t)).start()
	for _, code := range []int{301, 302, 303, 307, 308} {
		rec := newReceiver(t, func(_ int, w http.ResponseWriter, req *http.Request) { http.Redirect(w, req, inside.URL, code) })
		task := r.task()
		r.finish(task)
		d := r.delivery(r.register(task, rec.URL, "", ""), "failed", tried(1))
		if d.Status != store.DeliveryFailed || d.Response != code || !strings.Contains(d.Error, "redirects are not followed") {
			t.Errorf("%d: %+v", code, d)
		}
	}
	if n := len(inside.all()); n != 0 {
		t.Errorf("%d redirects were followed", n)
	}
}

// TestT51AnswersAreCut: neither a body without an end nor a huge header is
// read, and neither holds anybody up.
func TestT51AnswersAreCut(t *testing.T) {
	var wrote atomic.Int64
	ended := make(chan struct{})
	endless := newReceiver(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		defer close(ended)
		chunk := bytes.Repeat([]byte("x"), 32<<10)
		for r.Context().Err() == nil && wrote.Load() < 1<<30 {
			n, err := w.Write(chunk)
			wrote.Add(int64(n))
			if err != nil {
				return
			}
		}
	})
	boastful := newReceiver(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
		for i := range 16 {
			w.Header().Set("X-Long-"+string(rune('a'+i)), strings.Repeat("y", 64<<10))
		}
	})
	r := newRig(t, sqliteDSN(t)).start()
	one, other := r.task(), r.task()
	r.finish(one)
	r.finish(other)
	if d := r.delivery(r.register(one, endless.URL, "", ""), "taken", tried(1)); d.Status != store.DeliverySucceeded {
		t.Errorf("%+v", d)
	}
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Fatal("the answer is still being read")
	}
	if n := wrote.Load(); n > 16<<20 { // what fits into the buffers between, no more
		t.Errorf("%d bytes of the answer were taken", n)
	}
	if d := r.delivery(r.register(other, boastful.URL, "", ""), "failed", tried(1)); d.Status != store.DeliveryFailed {
		t.Errorf("%+v", d)
	}
}

// TestT52TimeAndProxy: an attempt has ten seconds in all, whatever the
// receiver trickles, and no proxy of the environment ever sees it.
func TestT52TimeAndProxy(t *testing.T) {
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY"} {
		t.Setenv(name, "http://127.0.0.1:1")
	}
	client := newGuard(true, nil).client()
	if tr, ok := client.Transport.(*http.Transport); !ok || tr.Proxy != nil {
		t.Error("there is a proxy")
	}
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		client := newGuard(true, nil).client()
		client.Transport.(*http.Transport).DialContext = func(context.Context, string, string) (net.Conn, error) { return ours, nil }
		done := make(chan struct{})
		go func() { // answers at once, and then byte by byte
			defer close(done)
			buf := make([]byte, 4096)
			if _, err := theirs.Read(buf); err != nil {
				return
			}
			text := []byte("HTTP/1.1 200 OK\r\nX-Slow: ")
			for {
				if _, err := theirs.Write(text); err != nil {
					return
				}
				text = []byte("x")
				time.Sleep(time.Second)
			}
		}()
		begun := time.Now()
		resp, err := client.Get("http://slow.test/")
		if err == nil {
			resp.Body.Close()
		}
		if took := time.Since(begun); err == nil || took != attemptWithin || reason(err) != "no answer within 10s" {
			t.Errorf("after %s: %v", took, err)
		}
		theirs.Close()
		<-done
	})
}

func TestReasonsTellNothingAboutUs(t *testing.T) {
	dns := &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: "x.test", Server: "10.9.8.7:53"}}
	if got := reason(dns); got != "the host name cannot be found" {
		t.Errorf("%s", got)
	}
	if got := reason(errors.New(strings.Repeat("ä", 500))); len(got) > 210 || !strings.HasSuffix(got, "…") {
		t.Errorf("%s", got)
	}
}

func resolverOf(t *testing.T, ips ...string) *net.Resolver {
	return resolver(t, func() []string { return ips })
}

// resolver asks a DNS server of the test's own, which knows one answer to
// every question.
func resolver(t *testing.T, answers func() []string) *net.Resolver {
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
			conn.WriteTo(dnsAnswer(buf[:n], answers()), from) //nolint:errcheck // it asks again
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

// dnsAnswer answers an A question with the addresses, any other with none.
func dnsAnswer(question []byte, ips []string) []byte {
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
