//go:build unix

package docs

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/beeos/beeos/test/apptest"
	"github.com/beeos/beeos/test/npm"
)

// signed is a request that a verifier of webhooks is shown, and whether it has
// to take it.
type signed struct {
	Name   string            `json:"name"`
	Secret string            `json:"secret"`
	Header string            `json:"header"`
	Body   string            `json:"body"`
	Now    int64             `json:"now"`
	Want   bool              `json:"want"`
	All    map[string]string `json:"all,omitempty"` // every header, of those that were really sent
}

const (
	hookSecret = "0123456789abcdef"
	hookBody   = `{"hello":"world"}`
	hookTime   = 1893456000
)

func v1(secret, stamp, body string) string {
	m := hmac.New(sha256.New, []byte(secret))
	m.Write([]byte(stamp + "." + body))
	return hex.EncodeToString(m.Sum(nil))
}

// vector is the one that the page shows.
func vector(t *testing.T) string {
	t.Helper()
	sum := v1(hookSecret, fmt.Sprint(hookTime), hookBody)
	if !strings.Contains(read(t, "docs/how-to/webhooks.md").text, sum) {
		t.Fatalf("docs/how-to/webhooks.md does not have the vector %s", sum)
	}
	return sum
}

// recipes runs the verifiers of docs/how-to/webhooks.md in all three languages.
func recipes(t *testing.T, cases []signed) {
	t.Helper()
	input, err := json.Marshal(cases)
	if err != nil {
		t.Fatal(err)
	}
	guide := read(t, "docs/how-to/webhooks.md")
	for language, command := range map[string]func(*testing.T, string) *exec.Cmd{"go": goRecipe, "js": nodeRecipe, "python": pythonRecipe} {
		t.Run(language, func(t *testing.T) {
			cmd := command(t, guide.block(t, language))
			cmd.Stdin = bytes.NewReader(input)
			judge(t, cmd, cases)
		})
	}
}

// judge runs a verifier, which prints true or false per case.
func judge(t *testing.T, cmd *exec.Cmd, cases []signed) {
	t.Helper()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	got := strings.Fields(strings.ToLower(string(out)))
	if err != nil || len(got) != len(cases) {
		t.Fatalf("%v, %d verdicts on %d cases\n%s", err, len(got), len(cases), &stderr)
	}
	for i, c := range cases {
		if got[i] != fmt.Sprint(c.Want) {
			t.Errorf("%s: %s, want %v", c.Name, got[i], c.Want)
		}
	}
}

func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func goRecipe(t *testing.T, recipe string) *exec.Cmd {
	program := `package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

` + recipe + `
func main() {
	var cases []struct {
		Secret, Header, Body string
		Now                  int64
	}
	if err := json.NewDecoder(os.Stdin).Decode(&cases); err != nil {
		panic(err)
	}
	for _, c := range cases {
		fmt.Println(verify(c.Secret, c.Header, []byte(c.Body), time.Unix(c.Now, 0)))
	}
}
`
	cmd := exec.CommandContext(t.Context(), "go", "run", ".")
	cmd.Dir = write(t, map[string]string{"main.go": program, "go.mod": "module recipe\n\ngo 1.26\n"})
	return cmd
}

func nodeRecipe(t *testing.T, recipe string) *exec.Cmd {
	tools, err := npm.Install(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	dir := write(t, map[string]string{"recipe.mjs": recipe, "main.mjs": `import { readFileSync } from "node:fs";
import { verify } from "./recipe.mjs";
for (const c of JSON.parse(readFileSync(0, "utf8"))) console.log(verify(c.secret, c.header, Buffer.from(c.body), c.now));
`})
	return tools.Node(t.Context(), filepath.Join(dir, "main.mjs"))
}

func pythonRecipe(t *testing.T, recipe string) *exec.Cmd {
	dir := write(t, map[string]string{"main.py": recipe + `
import json, sys
for c in json.load(sys.stdin):
    print(verify(c["secret"], c["header"], c["body"].encode(), c["now"]))
`})
	return exec.CommandContext(t.Context(), "python3", filepath.Join(dir, "main.py"))
}

// TestWebhookVectors: the recipes take what is well signed, by either
// secret while one replaces the other.
func TestWebhookVectors(t *testing.T) {
	good := vector(t)
	other := v1("another-secret-here", fmt.Sprint(hookTime), hookBody)
	header := func(fields ...string) string { return fmt.Sprintf("t=%d,", hookTime) + strings.Join(fields, ",") }
	unicode := `{"text":"żółć ☃"}`
	recipes(t, []signed{
		{Name: "one", Secret: hookSecret, Header: header("v1=" + good), Body: hookBody, Now: hookTime, Want: true},
		{Name: "the new of two", Secret: hookSecret, Header: header("v1="+good, "v1="+other), Body: hookBody, Now: hookTime, Want: true},
		{Name: "the old of two", Secret: hookSecret, Header: header("v1="+other, "v1="+good), Body: hookBody, Now: hookTime, Want: true},
		{Name: "neither", Secret: "a-third-secret-here", Header: header("v1="+other, "v1="+good), Body: hookBody, Now: hookTime},
		{Name: "unicode", Secret: hookSecret, Header: header("v1=" + v1(hookSecret, fmt.Sprint(hookTime), unicode)), Body: unicode, Now: hookTime, Want: true},
	})
}

// TestOldWebhooksAreRefused: five minutes, before and after.
func TestOldWebhooksAreRefused(t *testing.T) {
	var cases []signed
	for _, off := range []int64{-301, -299, 0, 299, 301} {
		cases = append(cases, signed{
			Name: fmt.Sprint(off), Secret: hookSecret, Header: fmt.Sprintf("t=%d,v1=%s", hookTime, vector(t)), Body: hookBody,
			Now: hookTime + off, Want: off > -300 && off < 300,
		})
	}
	recipes(t, cases)
}

// TestForgedWebhooksAreRefused: one byte is enough, and no nonsense makes a
// verifier fall over.
func TestForgedWebhooksAreRefused(t *testing.T) {
	good := vector(t)
	stamp := fmt.Sprintf("t=%d,", hookTime)
	cases := []signed{{Name: "other body", Header: stamp + "v1=" + good, Body: strings.Replace(hookBody, "w", "W", 1)}}
	for name, header := range map[string]string{
		"nothing": "", "no v1": strings.TrimSuffix(stamp, ","), "empty v1": stamp + "v1=", "short v1": stamp + "v1=" + good[:62], "long v1": stamp + "v1=" + good + "00",
		"no hex": stamp + "v1=zz" + good[2:], "no ASCII": stamp + "v1=ä☃", "other version": stamp + "v2=" + good, "other time": "t=1893456001,v1=" + good,
		"no time": "v1=" + good, "bad time": "t=soon,v1=" + good, "empty time": "t=,v1=" + good, "commas": ",,,,",
	} {
		cases = append(cases, signed{Name: name, Header: header, Body: hookBody})
	}
	for i := range cases {
		cases[i].Secret, cases[i].Now = hookSecret, hookTime
	}
	recipes(t, cases)
}

// TestWebhooksOfARunningServer: what a real server sends is taken by our
// recipes and by the official library of Standard Webhooks.
func TestWebhooksOfARunningServer(t *testing.T) {
	got := make(chan signed, 10)
	rec := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		all := map[string]string{}
		for name := range r.Header {
			all[strings.ToLower(name)] = r.Header.Get(name)
		}
		got <- signed{Name: r.URL.Path, Header: r.Header.Get("X-BeeOS-Signature"), Body: string(body), All: all, Want: true}
	}))
	t.Cleanup(rec.Close)
	app := apptest.Start(t, apptest.Config(t))
	secrets := map[string]string{"/raw": "a raw secret of ours", "/standard": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}
	var cases, forged []signed
	for path, secret := range secrets {
		register(t, app, rec.URL+path, secret)
		for one := (signed{}); !strings.Contains(one.Body, `"final":true`); {
			one = <-got
			one.Secret = secrets[one.Name]
			if _, err := fmt.Sscanf(one.All["webhook-timestamp"], "%d", &one.Now); err != nil {
				t.Fatal(err)
			}
			cases = append(cases, one)
			one.Name, one.Want = one.Name+" forged", false
			forged = append(forged, one)
		}
	}
	recipes(t, cases)
	for i := range forged {
		forged[i].Body = strings.Replace(forged[i].Body, "task", "tusk", 1)
	}
	t.Run("standardwebhooks", func(t *testing.T) { standard(t, append(cases, forged...)) })
}

// register makes a task and a webhook for it.
func register(t *testing.T, app *apptest.App, url, secret string) {
	t.Helper()
	post := func(path string, body any, out any) {
		t.Helper()
		data, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, app.REST+"/api/v1/agents/"+app.AgentID+path, bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+app.UserKey)
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if err := json.NewDecoder(resp.Body).Decode(out); err != nil || resp.StatusCode >= 300 {
			t.Fatalf("%s: %s, %v", path, resp.Status, err)
		}
	}
	var task struct {
		Data struct {
			ID string `json:"task_id"`
		}
	}
	post("/tasks", map[string]string{"message": "hello"}, &task)
	post("/tasks/"+task.Data.ID+"/webhooks", map[string]string{"url": url, "secret": secret}, &struct{}{})
}

// standard verifies with the official library.
func standard(t *testing.T, cases []signed) {
	t.Helper()
	tools, err := npm.Install(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	input, err := json.Marshal(cases)
	if err != nil {
		t.Fatal(err)
	}
	dir := write(t, map[string]string{"main.cjs": `const { Webhook } = require(process.argv[2]);
for (const c of JSON.parse(require("node:fs").readFileSync(0, "utf8"))) {
  const raw = !c.secret.startsWith("whsec_");
  const hook = raw ? new Webhook(c.secret, { format: "raw" }) : new Webhook(c.secret);
  try { hook.verify(c.body, c.all); console.log(true); } catch { console.log(false); }
}
`})
	cmd := tools.Node(t.Context(), filepath.Join(dir, "main.cjs"), tools.Module("standardwebhooks"))
	cmd.Stdin = bytes.NewReader(input)
	judge(t, cmd, cases)
}
