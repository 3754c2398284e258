package outbound

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/test/dnstest"
)

// get returns the answer's body, or why there is none.
func get(t *testing.T, c *http.Client, url string, header ...string) (string, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := c.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return resp.Status + " " + string(text), err
}

func serve(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return s
}

var errStopped = errors.New("the test lets nothing out")

// TestDialGoesToTheAddressThatWasChecked: a name that was public when it was
// checked and is not any more when it is dialled.
func TestDialGoesToTheAddressThatWasChecked(t *testing.T) {
	var reached atomic.Int64
	inside := serve(t, func(http.ResponseWriter, *http.Request) { reached.Add(1) })
	_, port, _ := net.SplitHostPort(inside.Listener.Addr().String())
	var let []string
	var at atomic.Value // the name server reads it meanwhile
	at.Store("8.8.8.8")
	o := Options{
		Resolver: dnstest.Resolver(t, func() []string { return []string{at.Load().(string)} }),
		Dialing:  func(address string) error { let = append(let, address); return errStopped },
	}
	url := "http://rebind.test:" + port + "/"
	if err := CheckURL(t.Context(), url, o); err != nil {
		t.Fatal(err)
	}
	if _, err := get(t, Client(o), url); !errors.Is(err, errStopped) || len(let) != 1 || let[0] != "8.8.8.8:"+port {
		t.Errorf("%v, dialled %v", err, let)
	}
	for _, address := range []string{"127.0.0.1", "169.254.169.254", "10.0.0.1", "168.63.129.16"} {
		at.Store(address)
		_, err := get(t, Client(o), url)
		told, ok := errors.AsType[*beeos.Error](err)
		if !ok || !strings.Contains(told.Message, "not in the public Internet") || strings.Contains(told.Message, address) {
			t.Errorf("%s: %v", address, err)
		}
	}
	if reached.Load() > 0 || len(let) != 1 {
		t.Errorf("%d requests came in, %v was dialled", reached.Load(), let)
	}
}

func TestNameWithOneForbiddenAddressIsRefused(t *testing.T) {
	o := Options{Resolver: dnstest.Resolver(t, func() []string { return []string{"8.8.8.8", "10.0.0.1"} })}
	if err := CheckURL(t.Context(), "http://two.test/", o); beeos.CodeOf(err) != beeos.InvalidParam {
		t.Error(err)
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	var reached atomic.Int64
	inside := serve(t, func(http.ResponseWriter, *http.Request) { reached.Add(1) })
	s := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, inside.URL, http.StatusFound) })
	if got, err := get(t, Client(Options{AllowPrivate: true}), s.URL); err != nil || !strings.HasPrefix(got, "302 ") || reached.Load() > 0 {
		t.Errorf("%q, %v, reached %d", got, err, reached.Load())
	}
}

// TestEveryRedirectIsChecked where they are followed.
func TestEveryRedirectIsChecked(t *testing.T) {
	for _, to := range []string{"http://169.254.169.254/latest", "http://[fd00:ec2::254]/", "http://[::ffff:169.254.169.254]/", "file:///etc/passwd"} {
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusFound)
		})
		for name, o := range map[string]Options{"private": {AllowPrivate: true, Redirects: 3}, "trusted": {Trusted: true, Redirects: 3}} {
			if got, err := get(t, Client(o), s.URL); err == nil {
				t.Errorf("%s: %s was followed: %q", name, to, got)
			}
		}
	}
	var again *httptest.Server
	again = serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, again.URL, http.StatusFound) })
	if _, err := get(t, Client(Options{Trusted: true, Redirects: 3}), again.URL); err == nil || !strings.Contains(err.Error(), "redirects again and again") {
		t.Error(err)
	}
}

// TestCredentialsStayWithTheirOrigin, also when a redirect leads back.
func TestCredentialsStayWithTheirOrigin(t *testing.T) {
	var home, other *httptest.Server
	var seen http.Header
	note := func(r *http.Request) { seen = r.Header.Clone() }
	other = serve(t, func(w http.ResponseWriter, r *http.Request) {
		if note(r); r.URL.Path == "/back" {
			http.Redirect(w, r, home.URL+"/end", http.StatusFound)
		}
	})
	home = serve(t, func(w http.ResponseWriter, r *http.Request) {
		if note(r); r.URL.Path != "/end" {
			http.Redirect(w, r, r.URL.Query().Get("to"), http.StatusFound)
		}
	})
	client := Client(Options{Trusted: true, Redirects: 3})
	for to, kept := range map[string]bool{other.URL + "/": false, other.URL + "/back": false, home.URL + "/end": true} {
		_, err := get(t, client, home.URL+"/?to="+to, "Authorization", "Bearer x", "X-Api-Key", "x", "Cookie", "x=y", "Accept", "text/plain")
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"Authorization", "X-Api-Key", "Cookie"} {
			if (seen.Get(name) != "") != kept {
				t.Errorf("%s: %s is %q", to, name, seen.Get(name))
			}
		}
		if seen.Get("Accept") != "text/plain" {
			t.Errorf("%s: accepts %q", to, seen.Get("Accept"))
		}
	}
}

func TestHeadersAreBounded(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		for i := range 16 {
			w.Header().Set("X-Long-"+string(rune('a'+i)), strings.Repeat("y", 8<<10))
		}
	})
	if _, err := get(t, Client(Options{Trusted: true}), s.URL); err == nil {
		t.Error("128 KiB of headers were read")
	}
}

// TestProxiesAreForTheOperatorsAddresses: no other request passes one.
func TestProxiesAreForTheOperatorsAddresses(t *testing.T) {
	for name, o := range map[string]Options{"public": {}, "private": {AllowPrivate: true}, "trusted": {Trusted: true}} {
		if got := Transport(o).(*bounded).base.(*http.Transport).Proxy != nil; got != o.Trusted {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// overPipe is a client that is answered by f.
func overPipe(t *testing.T, o Options, f func(net.Conn)) *http.Client {
	c := Client(o)
	var servers sync.WaitGroup
	t.Cleanup(func() {
		c.CloseIdleConnections()
		servers.Wait()
	})
	c.Transport.(*bounded).base.(*http.Transport).DialContext = func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		servers.Go(func() {
			defer theirs.Close()
			if _, err := theirs.Read(make([]byte, 4096)); err == nil {
				f(theirs)
			}
		})
		return ours, nil
	}
	return c
}

// TestTimeoutCoversAnAnswerThatTrickles, whatever it is in the middle of.
func TestTimeoutCoversAnAnswerThatTrickles(t *testing.T) {
	for name, begin := range map[string]string{"headers": "HTTP/1.1 200 OK\r\nX-Slow: ", "body": "HTTP/1.1 200 OK\r\n\r\n"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := overPipe(t, Options{AllowPrivate: true, Timeout: 10 * time.Second}, func(conn net.Conn) {
					for text := begin; ; text = "x" {
						if _, err := conn.Write([]byte(text)); err != nil {
							return
						}
						time.Sleep(time.Second)
					}
				})
				begun := time.Now()
				_, err := get(t, c, "http://slow.test/")
				slow, ok := errors.AsType[net.Error](err)
				if took := time.Since(begun); !ok || !slow.Timeout() || took != 10*time.Second {
					t.Errorf("after %s: %v", took, err)
				}
			})
		})
	}
}

// TestStreamsEndWhenTheyFallSilent and not before: there is no limit to how
// long one may go on.
func TestStreamsEndWhenTheyFallSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := overPipe(t, Options{AllowPrivate: true, Idle: time.Minute}, func(conn net.Conn) {
			text := "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
			for range 100 {
				if _, err := conn.Write([]byte(text + "data: x\n\n")); err != nil {
					return
				}
				text = ""
				time.Sleep(50 * time.Second)
			}
			_, _ = conn.Read(make([]byte, 1)) // until it is hung up
		})
		begun := time.Now()
		got, err := get(t, c, "http://stream.test/")
		if took := time.Since(begun); !errors.Is(err, errIdle) || took != 99*50*time.Second+time.Minute || strings.Count(got, "data: x") != 100 {
			t.Errorf("after %s: %v, %d events", took, err, strings.Count(got, "data: x"))
		}
	})
	synctest.Test(t, func(t *testing.T) {
		c := overPipe(t, Options{AllowPrivate: true, Idle: time.Minute}, func(conn net.Conn) { _, _ = conn.Read(make([]byte, 1)) })
		begun := time.Now()
		if _, err := get(t, c, "http://silent.test/"); err == nil || time.Since(begun) != time.Minute {
			t.Errorf("after %s: %v", time.Since(begun), err)
		}
	})
}
