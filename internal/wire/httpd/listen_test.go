package httpd

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/beeos/beeos/internal/telemetry"
	"github.com/beeos/beeos/test/ports"
)

const anyPort = "127.0.0.1:0"

func ok(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") }

// run serves s until the returned stop, which reports Serve's error.
func run(t *testing.T, s *Server) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx) }()
	stop = sync.OnceValue(func() error {
		cancel()
		return <-done
	})
	t.Cleanup(func() { stop() })
	return stop
}

func fetch(t *testing.T, url string) (int, string) {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(res.Body)
	return res.StatusCode, string(body)
}

func TestServeAnswersOnEveryPart(t *testing.T) {
	s, err := Listen([]Part{{Name: "mcp", Addr: anyPort}, {Name: "web", Addr: anyPort, Handler: http.HandlerFunc(ok)}})
	if err != nil {
		t.Fatal(err)
	}
	s.Metrics = telemetry.NewMetrics()
	s.Ready = []Check{{Name: "store", Check: func(context.Context) error { return nil }}}
	s.Handle("mcp", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, s.Addr("mcp")) }))
	if s.Addr("nothing") != "" || strings.HasSuffix(s.Addr("mcp"), ":0") || s.Addr("mcp") == s.Addr("web") {
		t.Errorf("addresses %q %q", s.Addr("mcp"), s.Addr("web"))
	}
	stop := run(t, s)

	if status, body := fetch(t, "http://"+s.Addr("mcp")+"/"); status != 200 || body != s.Addr("mcp") {
		t.Errorf("%d %s", status, body)
	}
	for _, page := range []string{"/healthz", "/readyz"} {
		for _, part := range []string{"mcp", "web"} {
			if status, body := fetch(t, "http://"+s.Addr(part)+page); status != 200 {
				t.Errorf("%s%s: %d %s", part, page, status, body)
			}
		}
	}
	if status, _ := fetch(t, strings.Replace("http://"+s.Addr("web")+"/", "127.0.0.1", "localhost", 1)); status != 200 {
		t.Errorf("localhost: %d", status)
	}
	req, _ := http.NewRequest("GET", "http://"+s.Addr("web")+"/", nil)
	req.Host = "evil.example"
	if res, err := http.DefaultClient.Do(req); err != nil || res.StatusCode != 403 {
		t.Errorf("a rebound name reaches a loopback listener: %v %v", res, err)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

func TestHandlePanicsOnUnknownPart(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	(&Server{}).Handle("nothing", nil)
}

// A listener that breaks takes the others down, so that the process ends and
// is started again, instead of living on half.
func TestServeFailsTogether(t *testing.T) {
	s, err := Listen([]Part{{Name: "mcp", Addr: anyPort, Handler: http.HandlerFunc(ok)}, {Name: "web", Addr: anyPort, Handler: http.HandlerFunc(ok)}})
	if err != nil {
		t.Fatal(err)
	}
	s.listeners[1].Close()
	if err := s.Serve(context.Background()); err == nil || !strings.Contains(err.Error(), "serve web: ") {
		t.Errorf("err %v", err)
	}
	if _, err := net.Dial("tcp", s.Addr("mcp")); err == nil {
		t.Error("the other port is still open")
	}
}

func TestListenErrorsNameTheSetting(t *testing.T) {
	taken, err := net.Listen("tcp", anyPort)
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	_, port, _ := net.SplitHostPort(taken.Addr().String())

	tests := []struct {
		part Part
		want string
	}{
		{Part{Name: "mcp", Addr: taken.Addr().String()}, "port " + port + " is in use — stop the other program or set MCP_ADDR"},
		{Part{Name: "rest", Addr: ":" + port, Setting: "OPENAPI_ADDR"}, "port " + port + " is in use — stop the other program or set OPENAPI_ADDR"},
		{Part{Name: "web", Addr: "192.0.2.7:80"}, "this machine has no address 192.0.2.7 — set WEB_ADDR to one of its own, or to :80 for all of them"},
		{Part{Name: "web", Addr: "8094"}, `cannot listen on "8094" — set WEB_ADDR to host:port, for example 127.0.0.1:8094`},
		{Part{Name: "web", Addr: "127.0.0.1:99999"}, `cannot listen on "127.0.0.1:99999" — set WEB_ADDR`},
	}
	for _, tt := range tests {
		first := Part{Name: "first", Addr: anyPort}
		s, err := Listen([]Part{first, tt.part})
		if err == nil {
			s.Close()
			t.Errorf("%s: no error", tt.part.Addr)
			continue
		}
		if got := err.Error(); !strings.HasPrefix(got, tt.want) || strings.Contains(got, "\n") {
			t.Errorf("%s: %q, want %q", tt.part.Addr, got, tt.want)
		}
	}
	both := []Part{{Name: "mcp", Addr: taken.Addr().String()}, {Name: "free", Addr: anyPort}, {Name: "web", Addr: taken.Addr().String()}}
	if _, err := Listen(both); err == nil || err.Error() != "ports "+port+", "+port+" are in use — stop the other program or set MCP_ADDR, WEB_ADDR" {
		t.Errorf("two ports that are taken: %v", err)
	}
	denied := listenError(Part{Name: "web", Addr: ":80"}, os.NewSyscallError("bind", syscall.EACCES))
	if want := "port 80 is reserved for root — set WEB_ADDR to a port above 1023"; denied.Error() != want {
		t.Errorf("%q, want %q", denied, want)
	}
}

// Listen opens all ports or none.
func TestListenGivesPortsBack(t *testing.T) {
	addr := ports.Addr(t)
	if _, err := Listen([]Part{{Name: "a", Addr: addr}, {Name: "b", Addr: addr}}); err == nil {
		t.Fatal("one port twice")
	}
	again, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
}

// A client that sends its headers a byte at a time is dropped.
func TestSlowHeadersAreCut(t *testing.T) {
	s, err := Listen([]Part{{Name: "web", Addr: anyPort, Handler: http.HandlerFunc(ok)}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	srv := s.server(context.Background(), s.parts[0], s.listeners[0])
	if srv.ReadHeaderTimeout != headerTime || srv.WriteTimeout != 0 || srv.ReadTimeout != 0 || srv.MaxHeaderBytes != maxHeaders {
		t.Errorf("limits %s %s %s %d", srv.ReadHeaderTimeout, srv.WriteTimeout, srv.ReadTimeout, srv.MaxHeaderBytes)
	}
	srv.ReadHeaderTimeout = 50 * time.Millisecond
	go srv.Serve(s.listeners[0])
	defer srv.Close()
	conn, err := net.Dial("tcp", s.Addr("web"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	io.WriteString(conn, "GET / HTTP/1.1\r\nHost: local")
	conn.SetReadDeadline(time.Now().Add(10 * time.Second))
	if answer, err := io.ReadAll(conn); err != nil || strings.Contains(string(answer), "200 OK") {
		t.Errorf("answer %q, %v", answer, err)
	}
}

// TestPartsShareAnAddress: each is counted by its own name, and what is nobody's
// goes to the part whose address it is.
func TestPartsShareAnAddress(t *testing.T) {
	say := func(text string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, text+" "+Base(r, "public")) })
	}
	s, err := Listen([]Part{
		{Name: "mcp", Handler: say("mcp")},
		{Name: "rest", Addr: anyPort, Handler: say("rest")},
		{Name: "shared", Addr: anyPort, Handler: say("nobody"), Local: "here", Pick: func(r *http.Request) string { return strings.Trim(r.URL.Path, "/") }},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Metrics = telemetry.NewMetrics()
	stop := run(t, s)
	if got := s.Addr("mcp"); got != "" {
		t.Errorf("mcp listens on %s", got)
	}
	shared, rest := "http://"+s.Addr("shared"), "http://"+s.Addr("rest")
	for url, want := range map[string]string{shared + "/mcp": "mcp here", shared + "/rest": "rest here", shared + "/x": "nobody here", rest + "/mcp": "rest public"} {
		if _, body := fetch(t, url); body != want {
			t.Errorf("%s: %q, want %q", url, body, want)
		}
	}
	w := httptest.NewRecorder()
	s.Metrics.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	for name, n := range map[string]string{"mcp": "1", "rest": "2", "shared": "1"} {
		if !strings.Contains(w.Body.String(), `surface="`+name+`"`) || !strings.Contains(w.Body.String(), `_count{surface="`+name+`"} `+n) {
			t.Errorf("%s is not counted %s times", name, n)
		}
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}
