package oauth

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/auth"
	"github.com/beeos/beeos/internal/store"
	agentstore "github.com/beeos/beeos/internal/store/agents"
	"github.com/beeos/beeos/test/pgtest"
)

const (
	issuer   = "https://mcp.example.com"
	console  = "https://console.example.com"
	verifier = "verifier-verifier-verifier-verifier-verifier"
	callback = "http://127.0.0.1:5173/cb"

	typeAccess    = "at+jwt"
	typeUser      = "user+jwt"
	refreshPrefix = "mcp_rt_"
	refreshGrace  = 10 * time.Second
	liveFor       = 5 * time.Second // how long a replica trusts what it knows of a token
)

var encode = base64.RawURLEncoding.EncodeToString

// splitRefresh takes a refresh token apart: the id of its chain, and its secret.
func splitRefresh(token string) (family, secret string) {
	family, secret, _ = strings.Cut(strings.TrimPrefix(token, refreshPrefix), ".")
	return family, secret
}

// rig is two servers on one database, with a person who has agents.
type rig struct {
	t      testing.TB
	db     *store.Store
	s      *Server
	other  *Server // another replica
	owner  beeos.User
	person beeos.User // who has no agents
	agents map[string]string
	client string // a registered one

	mu  sync.Mutex
	at  time.Time
	hit int // registrations so far, each from an address of its own
}

func (r *rig) now() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.at
}

func (r *rig) pass(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.at = r.at.Add(d)
}

// eachEngine runs a test on both databases.
func eachEngine(t *testing.T, test func(t *testing.T, r *rig)) {
	t.Run("sqlite", func(t *testing.T) { test(t, newRig(t)) })
	t.Run("postgres", func(t *testing.T) { test(t, newRigOn(t, pgtest.URL(t), Options{})) })
}

func newRig(t testing.TB) *rig { return newRigWith(t, Options{}) }

func newRigWith(t testing.TB, opt Options) *rig {
	return newRigOn(t, "sqlite:"+filepath.Join(t.TempDir(), "test.db")+"?durability=os", opt)
}

func newRigOn(t testing.TB, dsn string, opt Options) *rig {
	t.Helper()
	r := &rig{t: t, at: time.Now().UTC().Truncate(time.Second)}
	ctx := context.Background()
	var err error
	r.db, err = store.Open(ctx, dsn)
	r.must(err)
	t.Cleanup(func() { r.db.Close() })
	opt.Grants, opt.Keys, opt.Agents, opt.Trail, opt.Cluster = r.db.Grants, r.db.Keys, r.db.Agents, r.db.Audit, r.db.Cluster
	opt.Issuer, opt.ConsoleURL, opt.Now = issuer, console, r.now
	opt.Tell = func(id string) {
		if r.s != nil && r.other != nil {
			r.s.Forget(id)
			r.other.Forget(id)
		}
	}
	r.s, err = New(ctx, opt)
	r.must(err)
	r.other, err = New(ctx, opt)
	r.must(err)
	r.owner = beeos.User{ID: beeos.NewID(), Email: "owner@example.com", CreatedAt: r.at}
	r.person = beeos.User{ID: beeos.NewID(), Email: "person@example.com", CreatedAt: r.at}
	r.must(r.db.People.CreateUser(ctx, r.owner))
	r.must(r.db.People.CreateUser(ctx, r.person))
	r.agents = r.sync(r.owner, "a", "b", "closed")
	off := false
	_, err = r.db.Agents.Update(ctx, r.agents["closed"], agentstore.Patch{MCPEnabled: &off})
	r.must(err)
	r.agents["foreign"] = r.sync(r.person, "foreign")["foreign"]
	r.client = r.register(callback, "https://app.example/cb")
	return r
}

func (r *rig) sync(u beeos.User, names ...string) map[string]string {
	public, _, err := ed25519.GenerateKey(nil)
	r.must(err)
	inst := beeos.Instance{ID: beeos.NewID(), OwnerID: u.ID, Name: "x", PublicKey: public, CreatedAt: r.at}
	r.must(r.db.Instances.Create(context.Background(), inst))
	var defs []beeos.Definition
	for _, name := range names {
		defs = append(defs, beeos.Definition{Name: name})
	}
	synced, err := r.db.Agents.Sync(context.Background(), inst, defs)
	r.must(err)
	return synced.IDs()
}

func (r *rig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// endpoint is an agent's resource.
func (r *rig) endpoint(agent string) string { return issuer + "/" + r.agents[agent] + "/mcp" }

// get asks a server like a browser does.
func get(s http.Handler, target string, cookies ...*http.Cookie) *httptest.ResponseRecorder {
	q := httptest.NewRequest(http.MethodGet, target, nil)
	for _, c := range cookies {
		q.AddCookie(c)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, q)
	return w
}

// post sends a body and returns the status and the answer.
func post(s http.Handler, path, kind, from, body string) (int, map[string]any, http.Header) {
	q := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
	q.Header.Set("Content-Type", kind)
	if from != "" {
		q.RemoteAddr = from + ":1234"
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, q)
	var answer map[string]any
	_ = json.Unmarshal(w.Body.Bytes(), &answer)
	return w.Code, answer, w.Header()
}

func form(s http.Handler, path string, values url.Values) (int, map[string]any) {
	status, answer, _ := post(s, path, "application/x-www-form-urlencoded", "", values.Encode())
	return status, answer
}

// tryRegister registers from an address of its own.
func (r *rig) tryRegister(body string) (int, map[string]any) {
	r.hit++
	status, answer, _ := post(r.s, "/oauth/register", "application/json", "198.51.100."+string(rune('0'+r.hit%10))+string(rune('0'+r.hit/10%10)), body)
	return status, answer
}

func (r *rig) register(redirects ...string) string {
	r.t.Helper()
	list, err := json.Marshal(redirects)
	r.must(err)
	status, answer := r.tryRegister(`{"client_name":"App","redirect_uris":` + string(list) + `}`)
	if status != http.StatusCreated {
		r.t.Fatalf("register: %d %v", status, answer)
	}
	return answer["client_id"].(string)
}

// query is a good authorization request, changed by pairs of name and value.
func (r *rig) query(pairs ...string) url.Values {
	q := url.Values{
		"response_type": {"code"}, "client_id": {r.client}, "redirect_uri": {callback}, "state": {"st&ate"},
		"code_challenge": {encode(auth.Hash(verifier))}, "code_challenge_method": {"S256"}, "resource": {r.endpoint("a")},
	}
	for i := 0; i < len(pairs); i += 2 {
		q.Set(pairs[i], pairs[i+1])
		if pairs[i+1] == "" {
			q.Del(pairs[i])
		}
	}
	return q
}

// begin authorizes and returns the transaction and the browser's cookie.
func (r *rig) begin(q url.Values) (tx string, cookie *http.Cookie) {
	r.t.Helper()
	w := get(r.s, "/oauth/authorize?"+q.Encode())
	to, err := url.Parse(w.Header().Get("Location"))
	r.must(err)
	back, err := url.Parse(to.Query().Get("return_to"))
	r.must(err)
	if w.Code != http.StatusFound || !strings.HasPrefix(to.String(), console+"/mcp-login?") || !strings.HasPrefix(back.String(), issuer+"/oauth/return?") {
		r.t.Fatalf("authorize: %d %s %s", w.Code, to, w.Body)
	}
	cookies := w.Result().Cookies()
	if len(cookies) != 1 {
		r.t.Fatalf("cookies %v", cookies)
	}
	return back.Query().Get("tx"), cookies[0]
}

// answered follows the browser back and returns the client's answer.
func (r *rig) answered(back string, cookie *http.Cookie) url.Values {
	r.t.Helper()
	w := get(r.other, strings.TrimPrefix(back, issuer), cookie)
	to, err := url.Parse(w.Header().Get("Location"))
	r.must(err)
	if w.Code != http.StatusFound || to.Query().Get("iss") != issuer {
		r.t.Fatalf("return: %d %s %s", w.Code, to, w.Body)
	}
	return to.Query()
}

// code goes all the way to a code.
func (r *rig) code(q url.Values, c Choice) string {
	r.t.Helper()
	tx, cookie := r.begin(q)
	back, err := r.other.Allow(context.Background(), tx, r.owner.ID, c)
	r.must(err)
	answer := r.answered(back, cookie)
	if answer.Get("state") != q.Get("state") || answer.Get("code") == "" {
		r.t.Fatalf("answer %v", answer)
	}
	return answer.Get("code")
}

func (r *rig) exchange(code string, pairs ...string) url.Values {
	f := url.Values{"grant_type": {"authorization_code"}, "code": {code}, "code_verifier": {verifier}, "client_id": {r.client}, "redirect_uri": {callback}}
	for i := 0; i < len(pairs); i += 2 {
		f.Set(pairs[i], pairs[i+1])
	}
	return f
}

func (r *rig) renewal(refresh string, pairs ...string) url.Values {
	f := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {refresh}, "client_id": {r.client}}
	for i := 0; i < len(pairs); i += 2 {
		f.Set(pairs[i], pairs[i+1])
	}
	return f
}

// tokens goes all the way to tokens.
func (r *rig) tokens(q url.Values, agents ...string) (access, refresh string) {
	r.t.Helper()
	var ids []string
	for _, name := range agents {
		ids = append(ids, r.agents[name])
	}
	status, answer := form(r.s, "/oauth/token", r.exchange(r.code(q, Choice{Agents: ids, All: len(ids) == 0}), "client_id", q.Get("client_id"), "redirect_uri", q.Get("redirect_uri")))
	if status != http.StatusOK {
		r.t.Fatalf("token: %d %v", status, answer)
	}
	return answer["access_token"].(string), answer["refresh_token"].(string)
}

// good reports whether a token is accepted for an agent, on both replicas.
func (r *rig) good(token, resource string) bool {
	r.t.Helper()
	_, err := r.s.CheckAccess(context.Background(), token, resource)
	_, other := r.other.CheckAccess(context.Background(), token, resource)
	if (err == nil) != (other == nil) {
		r.t.Errorf("replicas differ: %v, %v", err, other)
	}
	if err != nil && beeos.CodeOf(err) != beeos.InvalidToken {
		r.t.Errorf("check: %v", err)
	}
	return err == nil
}
