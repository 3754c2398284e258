package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/internal/store/grants"
)

const (
	tokenClient   = "mcp_client_bench"
	tokenCallback = "http://127.0.0.1/callback"
	tokenVerifier = "a-verifier-that-is-long-enough-for-the-rules-of-pkce"
	tokenChains   = 64
)

// tokens measures the refresh grant, as apps ask for it once an hour, with a
// database that syncs to disk; and a call with the token that it gives against
// one with a key, which is what a check of the token costs.
func tokens(ctx context.Context, s settings) (string, error) {
	var codes []string
	b, err := prepare(ctx, "fsync", func(ctx context.Context, db *store.Store, user string) (err error) {
		codes, err = grantCodes(ctx, db, user)
		return err
	})
	if err != nil {
		return "", err
	}
	defer b.close()
	if err := b.run(ctx, s.server, "fsync"); err != nil {
		return "", err
	}
	stop, id, err := b.connectAgent(ctx)
	if err != nil {
		return "", err
	}
	defer stop()
	chains := make([]*chain, tokenChains)
	for i, code := range codes {
		if chains[i], err = redeem(b.mcp, code); err != nil {
			return "", err
		}
	}
	refreshes, err := refreshTable(ctx, b, chains, s)
	if err != nil {
		return "", err
	}
	path := "/" + id + "/mcp"
	rigs := []rig{
		{"with a key", b.callTarget(id), b.process},
		{"with a token", post(b.mcp, path, toolCall, toolText, "Authorization: Bearer "+chains[0].access), b.process},
	}
	samples, err := interleave(ctx, rigs, []int{64}, s)
	if err != nil {
		return "", err
	}
	return refreshes + "\n" + credentialsTable(rigs, samples), nil
}

// grantCodes lets an app of one person be redeemed so many times. The way
// through the browser is not what is measured.
func grantCodes(ctx context.Context, db *store.Store, user string) ([]string, error) {
	now := time.Now()
	client := grants.Client{ID: tokenClient, Name: "bench", RedirectURIs: []string{tokenCallback}, CreatedAt: now, ExpiresAt: now.Add(time.Hour)}
	if err := db.Grants.CreateClient(ctx, client, 10); err != nil {
		return nil, err
	}
	challenge := sha256.Sum256([]byte(tokenVerifier))
	var codes []string
	for range tokenChains {
		code := beeos.NewSecret("")
		hash := sha256.Sum256([]byte(code))
		_, err := db.Grants.GrantOAuth(ctx, grants.Grant{ID: beeos.NewID(), UserID: user, ClientID: tokenClient, ClientName: "bench", All: true, CreatedAt: now}, grants.Code{
			Hash: hash[:], FamilyID: beeos.NewID(), ClientID: tokenClient, RedirectURI: tokenCallback,
			Challenge: base64.RawURLEncoding.EncodeToString(challenge[:]), Resource: publicMCP, ExpiresAt: now.Add(time.Minute),
		}, now.Add(time.Hour))
		if err != nil {
			return nil, err
		}
		codes = append(codes, code)
	}
	return codes, nil
}

// chain is an app's connection to the token endpoint, and what it was given
// last.
type chain struct {
	addr            string
	conn            net.Conn
	in              response
	access, refresh string
}

func redeem(addr, code string) (*chain, error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	c := &chain{addr: addr, conn: conn, in: response{in: bufio.NewReader(conn)}}
	return c, c.ask(url.Values{"grant_type": {"authorization_code"}, "code": {code}, "code_verifier": {tokenVerifier}, "redirect_uri": {tokenCallback}})
}

func (c *chain) renew() error {
	return c.ask(url.Values{"grant_type": {"refresh_token"}, "refresh_token": {c.refresh}})
}

func (c *chain) ask(form url.Values) error {
	form.Set("client_id", tokenClient)
	body := form.Encode()
	_, err := fmt.Fprintf(c.conn, "POST /oauth/token HTTP/1.1\r\nHost: %s\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: %d\r\n\r\n%s", c.addr, len(body), body)
	if err == nil {
		err = c.in.read()
	}
	var answer struct {
		Access  string `json:"access_token"`
		Refresh string `json:"refresh_token"`
	}
	if err == nil {
		err = json.NewDecoder(bytes.NewReader(c.in.body)).Decode(&answer)
	}
	if err == nil && (!c.in.ok || answer.Access == "" || answer.Refresh == "") {
		err = fmt.Errorf("no tokens: %s", c.in.body)
	}
	c.access, c.refresh = answer.Access, answer.Refresh
	return err
}

// refreshLoad renews all chains at once for d, each on its own connection.
func refreshLoad(ctx context.Context, b *beeosServer, chains []*chain, d time.Duration) (sample, error) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	var mu sync.Mutex
	var all []time.Duration
	var failed error
	var group sync.WaitGroup
	cpu, start := b.cpu(), time.Now()
	for _, c := range chains {
		group.Go(func() {
			var took []time.Duration
			var err error
			for ctx.Err() == nil && err == nil {
				at := time.Now()
				err = c.renew()
				took = append(took, time.Since(at))
			}
			mu.Lock()
			defer mu.Unlock()
			all, failed = append(all, took...), errors.Join(failed, err)
		})
	}
	group.Wait()
	if failed != nil {
		return sample{}, failed
	}
	slices.Sort(all)
	x := sample{calls: len(all), took: time.Since(start), p50: all[len(all)/2], p99: all[len(all)*99/100]}
	x.cpu = (b.cpu() - cpu) / time.Duration(x.calls)
	return x, nil
}

func refreshTable(ctx context.Context, b *beeosServer, chains []*chain, s settings) (string, error) {
	d := time.Duration(s.seconds * float64(time.Second))
	var out strings.Builder
	out.WriteString("| apps at once | refresh grants/s | p50 | p99 | server CPU per grant | a core's worth |\n|---:|---:|---:|---:|---:|---:|\n")
	for _, n := range []int{1, tokenChains} {
		var all []sample
		for range s.rounds {
			x, err := refreshLoad(ctx, b, chains[:n], d)
			if err != nil {
				return "", err
			}
			all = append(all, x)
		}
		cpu := median(all, func(x sample) float64 { return float64(x.cpu.Nanoseconds()) / 1000 })
		fmt.Fprintf(&out, "| %d | %.0f | %.2f ms | %.2f ms | %.0f µs | %.0f/s |\n", n, median(all, sample.perSecond),
			median(all, func(x sample) float64 { return ms(x.p50) }), median(all, func(x sample) float64 { return ms(x.p99) }), cpu, 1e6/cpu)
	}
	return out.String(), nil
}

func credentialsTable(rigs []rig, samples map[cell][]sample) string {
	var b strings.Builder
	b.WriteString("| call | calls/s | p50 | server CPU per call |\n|---|---:|---:|---:|\n")
	for i, r := range rigs {
		x := samples[cell{i, 64}]
		fmt.Fprintf(&b, "| %s | %.0f | %.2f ms | %.1f µs |\n", r.name, median(x, sample.perSecond),
			median(x, func(s sample) float64 { return ms(s.p50) }), median(x, func(s sample) float64 { return float64(s.cpu.Nanoseconds()) / 1000 }))
	}
	return b.String()
}
