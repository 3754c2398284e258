package config

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestDomain: a domain takes the place of five ports and five URLs.
func TestDomain(t *testing.T) {
	tests := []struct {
		name  string
		args  []string
		urls  []string // mcp, a2a, rest, agents, web
		addrs []string // as above
		addr  []string
	}{
		{
			"one name",
			[]string{"serve", "--domain=Bee.example.com."},
			slices.Repeat([]string{"https://bee.example.com"}, 5), slices.Repeat([]string{""}, 5),
			[]string{":443", ":80"},
		},
		{
			"two names of surfaces",
			[]string{"serve", "--domain=bee.example.com,mcp.bee.example.com,app.bee.example.com"},
			[]string{"https://mcp.bee.example.com", "https://bee.example.com", "https://bee.example.com", "https://bee.example.com", "https://app.bee.example.com"},
			slices.Repeat([]string{""}, 5),
			[]string{":443", ":80"},
		},
		{
			"a port of its own",
			[]string{"serve", "--domain=bee.example.com:8443,api.bee.example.com:8443", "--addr=:8443", "--openapi-addr=:8095"},
			[]string{"https://bee.example.com:8443", "https://bee.example.com:8443", "https://api.bee.example.com:8443", "https://bee.example.com:8443", "https://bee.example.com:8443"},
			[]string{"", "", ":8095", "", ""},
			[]string{":8443"},
		},
		{
			"behind a proxy",
			[]string{"serve", "--domain=bee.example.com", "--cert=off"},
			slices.Repeat([]string{"https://bee.example.com"}, 5), slices.Repeat([]string{""}, 5),
			[]string{":8080"},
		},
		{
			"a tunnel",
			[]string{"dev", "--domain=abc.tunnel.example"},
			slices.Repeat([]string{"https://abc.tunnel.example"}, 5),
			[]string{"127.0.0.1:8094", "127.0.0.1:8092", "127.0.0.1:8095", "127.0.0.1:8083", "127.0.0.1:3000"},
			nil,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, err := parse(t, nil, tt.args...)
			if err != nil {
				t.Fatal(err)
			}
			var urls, addrs []string
			for _, s := range c.surfaces() {
				urls, addrs = append(urls, s.PublicURL), append(addrs, s.Addr)
			}
			if diff := cmp.Diff(tt.urls, urls); diff != "" {
				t.Errorf("URLs: -want +got\n%s", diff)
			}
			if diff := cmp.Diff(tt.addrs, addrs); diff != "" {
				t.Errorf("addresses: -want +got\n%s", diff)
			}
			if diff := cmp.Diff(tt.addr, c.Addr); diff != "" {
				t.Errorf("shared address: -want +got\n%s", diff)
			}
			if c.MCP.WebLoginURL != tt.urls[4] || c.HasAddress() == c.Dev || len(c.Warnings()) != 0 && !slices.Contains(tt.addrs, ":8095") {
				t.Errorf("%s %v %q", c.MCP.WebLoginURL, c.HasAddress(), c.Warnings())
			}
		})
	}
}

func TestDomainIsChecked(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want string // "" = fine
	}{
		{[]string{"serve", "--domain=bee.example.com", "--cert=a.pem,b.pem"}, ""},
		{[]string{"serve", "--domain=bee.example.com", "--cert=both.pem"}, ""},
		{[]string{"serve", "--domain=localhost", "--cert=both.pem"}, ""},
		{[]string{"serve", "--domain=bee.example.com", "--trusted-proxies=10.0.0.7,fd00::/8,loopback,private"}, ""},
		{[]string{"serve", "--domain=bee.example.com", "--web-addr="}, ""},

		{[]string{"serve", "--domain=https://bee.example.com"}, "is no host name"},
		{[]string{"serve", "--domain=bee.example.com/x"}, "is no host name"},
		{[]string{"serve", "--domain=10.0.0.1"}, "is no host name"},
		{[]string{"serve", "--domain=bee"}, "no public authority gives a certificate"},
		{[]string{"serve", "--domain=bee.example.com,www.bee.example.com"}, "which serves nothing"},
		{[]string{"serve", "--domain=bee.example.com,mcp.other.example.com"}, "which serves nothing"},
		{[]string{"serve", "--domain=bee.example.com,bee.example.com"}, "twice"},
		{[]string{"serve", "--domain=bee.example.com,mcp.bee.example.com:8443"}, "on another port"},
		{[]string{"serve", "--domain=bee.example.com", "--mcp-public-url=https://x.example.com"}, "MCP_PUBLIC_URL is set as well"},
		{[]string{"serve", "--domain=bee.example.com", "--addr=443"}, "BEEOS_ADDR is"},
		{[]string{"serve", "--domain=bee.example.com", "--addr=:443,:80,:81"}, "too many"},
		{[]string{"serve", "--domain=bee.example.com", "--cert=off", "--addr=:443,:80"}, "too many"},
		{[]string{"serve", "--domain=bee.example.com", "--mcp-addr=:443"}, "both listen on port 443"},
		{[]string{"serve", "--domain=bee.example.com", "--cert="}, "BEEOS_CERT"},
		{[]string{"serve", "--domain=bee.example.com", "--cert=a,b,c"}, "BEEOS_CERT"},
		{[]string{"serve", "--domain=bee.example.com", "--acme-directory=letsencrypt"}, "ACME_DIRECTORY"},
		{[]string{"serve", "--trusted-proxies=nginx"}, "BEEOS_TRUSTED_PROXIES"},
		{[]string{"dev", "--domain=a.example.com,mcp.a.example.com"}, "takes one"},
	} {
		t.Run(strings.Join(tt.args, " "), func(t *testing.T) {
			_, err := parse(t, nil, tt.args...)
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}
