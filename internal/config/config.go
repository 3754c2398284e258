// Package config is every setting of BeeOS: one struct whose tags are the
// flags, the environment names, the defaults and the help (config.go), how
// kong fills it (load.go), how one address takes the place of five (address.go),
// what a file of them says (file.go, check.go) and may say (schema.go), what makes a
// combination unusable (validate.go),
// and where each value came from (effective.go). The page of the manual that
// lists them is made by a test. Commands embed Config; everything else in the
// system is handed plain values.
//
// A command for one developer sets the variable "listen" in its tag, so that
// addresses default to loopback:
//
//	Dev   DevCmd   `cmd:"" set:"listen=127.0.0.1:"`
//	Serve ServeCmd `cmd:""`
package config

import (
	"slices"
	"time"
)

// Config is the whole configuration.
type Config struct {
	// Dev is set for a command whose tag makes addresses default to loopback.
	Dev bool `kong:"-"`

	File string `name:"config" env:"BEEOS_CONFIG" placeholder:"FILE" help:"File with settings. Empty: beeos.yaml in the data folder, else /etc/beeos/beeos.yaml, where there is one; beeos dev looks in the data folder alone." group:"Settings"`

	Data        string        `env:"BEEOS_DATA" default:"./beeos-data" help:"Folder for all that is kept: database, files, keys." group:"Storage"`
	DatabaseURL string        `env:"DATABASE_URL" placeholder:"URL" help:"PostgreSQL to keep everything in. Empty: SQLite in the data folder." group:"Storage"`
	Durability  string        `env:"BEEOS_DURABILITY" enum:"fsync,os" default:"fsync" help:"What an accepted message survives. fsync: a power cut. os: a crash of BeeOS, at a lower latency." group:"Storage"`
	Retention   time.Duration `env:"BEEOS_RETENTION" default:"0s" help:"How long finished work is kept, for example 720h. 0s: for ever." group:"Storage"`

	NATSURL     string   `name:"nats-url" env:"NATS_URL" placeholder:"URL" help:"NATS that several nodes share. Empty: one inside this process." group:"Several nodes"`
	ClusterAddr string   `env:"BEEOS_CLUSTER_ADDR" placeholder:"HOST:PORT" help:"Address on which the NATS servers inside the nodes reach each other, instead of NATS_URL. Empty: this node stands alone." group:"Several nodes"`
	Only        []string `env:"BEEOS_ONLY" enum:"mcp,a2a,rest,agents,web,worker" placeholder:"PART,..." help:"Run only some of ${enum}. Empty: all of them." group:"Several nodes"`

	Domain         []string `env:"BEEOS_DOMAIN" placeholder:"NAME,..." help:"Name under which everything is reached, by https, for example bee.example.com; with its port unless that is 443. Names below it, mcp., a2a., api., agents. and app., serve one surface each where they are given, too. Surfaces then have no ports of their own but those that are set. beeos dev: the name of a tunnel to the console's port. Empty: a port for each surface." group:"One address"`
	Addr           []string `env:"BEEOS_ADDR" placeholder:"HOST:PORT,..." help:"Where the domain is served, and where HTTP is led to it. Empty: :443,:80, or :8080 when BEEOS_CERT is off." group:"One address"`
	Cert           string   `env:"BEEOS_CERT" default:"acme" help:"The domain's certificate. acme: ordered and renewed by itself, where the name leads here and port 443 or 80 is reachable. off: a proxy in front has it, and speaks HTTP with BeeOS. FILE or FILE,KEYFILE: PEM files, read again when they change." group:"One address"`
	TrustedProxies []string `env:"BEEOS_TRUSTED_PROXIES" placeholder:"NETWORK,..." help:"Proxies whose X-Forwarded-For is believed: addresses, networks such as 10.0.0.0/8, or the words loopback and private. Empty: nobody's; beeos dev with a domain: loopback." group:"One address"`
	ACME           ACME     `embed:"" prefix:"acme-" envprefix:"ACME_" group:"Certificate authority"`

	MCP  MCP     `embed:"" prefix:"mcp-" envprefix:"MCP_" set:"port=8094" group:"MCP surface"`
	A2A  Surface `embed:"" prefix:"a2a-" envprefix:"A2A_" set:"port=8092" group:"A2A surface"`
	REST Surface `embed:"" prefix:"openapi-" envprefix:"OPENAPI_" set:"port=8095" group:"REST surface"`
	//lint:ignore SA5008 kong reads every "set" of a tag.
	Agents Surface `embed:"" prefix:"agent-gateway-" envprefix:"AGENT_GATEWAY_" set:"port=8083" set:"url=URL" group:"Agent gateway"`
	Web    Surface `embed:"" prefix:"web-" envprefix:"WEB_" set:"port=3000" group:"Console"`

	OIDC OIDC `embed:"" prefix:"oidc-" envprefix:"OIDC_" group:"OpenID provider"`
	SMTP SMTP `embed:"" prefix:"smtp-" envprefix:"SMTP_" group:"Mail server"`
	S3   S3   `embed:"" prefix:"s3-" envprefix:"S3_" group:"S3 storage"`
	LLM  LLM  `embed:"" prefix:"llm-" envprefix:"LLM_" group:"Language model"`

	RateLimit    int           `env:"BEEOS_RATE_LIMIT" default:"60" help:"Calls a minute from one credential to one agent, where neither key nor agent says otherwise." group:"Calls"`
	AnswerTokens int           `env:"BEEOS_ANSWER_TOKENS" default:"10000000" help:"Most tokens that one answer of a built-in agent may use, read and written, whatever its owner sets: the model's key is the operator's." group:"Calls"`
	CallTimeout  time.Duration `env:"BEEOS_CALL_TIMEOUT" default:"60s" help:"How long a call waits for an agent that does not say otherwise." group:"Calls"`

	AllowPrivate bool `env:"BEEOS_ALLOW_PRIVATE" negatable:"" help:"Let addresses that a caller names lead to this machine and to private networks. beeos dev: yes, unless said otherwise." group:"Calls"`

	LogLevel  string `env:"LOG_LEVEL" enum:"debug,info,warn,error" default:"info" help:"Least severe line that is logged: ${enum}." group:"Operation"`
	LogFormat string `env:"LOG_FORMAT" enum:"auto,text,json" default:"auto" help:"Form of the log: ${enum}. auto: text on a terminal, JSON elsewhere." group:"Operation"`
	AdminAddr string `env:"BEEOS_ADMIN_ADDR" placeholder:"HOST:PORT" help:"Address of the operator's own pages: /metrics, /healthz and /readyz without a credential, and on loopback Go's profiler. Empty: port 8070 on 127.0.0.1; with BEEOS_ONLY 8071 for agents, 8072 mcp, 8073 a2a, 8074 rest, 8075 web and 8076 worker, whichever of these it runs first; or any free port when that one is taken, which the log names. off: none." group:"Operation"`

	adminMoves bool              // nobody chose AdminAddr, so another one will do
	origins    map[string]string // environment name -> where the value came from
	path       string            // of the file of settings; "" = there is none
	lines      map[string]int    // name in that file -> where it stands, for what counts
}

// Surface is where one surface listens and what the world calls it.
type Surface struct {
	Addr      string `env:"ADDR" default:"${listen=:}${port}" help:"Address to listen on."`
	PublicURL string `env:"${url=PUBLIC_URL}" placeholder:"http://localhost:${port}" help:"URL under which others reach it. Empty: localhost and the port of the address."`
}

// MCP is the MCP surface, which also sends people to a page to sign in.
type MCP struct {
	Surface     `embed:""`
	WebLoginURL string `env:"WEB_LOGIN_URL" placeholder:"URL" help:"Console where people sign in and consent. Empty: the console's public URL."`
	Strict      bool   `env:"STRICT" help:"Refuse requests of MCP 2026-07-28 that name an older version in their header, as some hosted clients do."`

	Origins []string `env:"ORIGINS" placeholder:"ORIGIN,..." help:"Web pages that may talk to it from a browser, for example https://app.example.com. Empty: any, none of which can use a cookie there."`
}

// OIDC is an outside provider through which people can sign in.
type OIDC struct {
	Issuer       string `env:"ISSUER" placeholder:"URL" help:"OpenID provider through which people can sign in, beside their password. Empty: none."`
	ClientID     string `env:"CLIENT_ID" placeholder:"ID" help:"What the provider calls this BeeOS. Register the redirect URL WEB_PUBLIC_URL/signin/oidc/return with it."`
	ClientSecret string `env:"CLIENT_SECRET" placeholder:"SECRET" help:"The secret that the provider gave with it. Empty: a public client."`
}

// SMTP is the mail server through which people are written to.
type SMTP struct {
	URL  string `env:"URL" placeholder:"URL" help:"Mail server that sends what people are told: smtp://user:password@host:587, with STARTTLS, or smtps://user:password@host:465. smtp://host:25?tls=off is for a relay of your own that wants no password. Empty: no mail is sent."`
	From string `env:"FROM" placeholder:"ADDRESS" help:"Who writes, for example BeeOS <bee@example.com>."`
}

// ACME is who signs the domain's certificates.
type ACME struct {
	Directory string `env:"DIRECTORY" placeholder:"URL" help:"Certificate authority to order from, by its ACME directory. Empty: Let's Encrypt, whose terms you then agree to."`
	Email     string `env:"EMAIL" placeholder:"ADDRESS" help:"Where the authority may write to about certificates."`
}

// S3 is an outside store for the bytes of files.
type S3 struct {
	Endpoint  string `env:"ENDPOINT" placeholder:"URL" help:"S3-compatible storage to keep files in, with the bucket as its path: https://s3.example.com/bucket. Empty: the data folder."`
	AccessKey string `env:"ACCESS_KEY" placeholder:"KEY" help:"Access key for it."`
	SecretKey string `env:"SECRET_KEY" placeholder:"SECRET" help:"Secret key for it."`
	Region    string `env:"REGION" placeholder:"REGION" help:"Region of the bucket. Empty: us-east-1, which most that are not Amazon's take."`
}

// LLM is the language model of built-in agents.
type LLM struct {
	Provider string `env:"PROVIDER" enum:",openai,anthropic,scripted" default:"" help:"Who runs the model of built-in agents: openai (or anything that speaks its chat completions), anthropic, or scripted, which needs none. Empty: openai when a URL, a model or a key is set; else scripted in beeos dev, and none elsewhere."`
	URL      string `env:"URL" placeholder:"URL" help:"Where the model is, for example http://localhost:11434/v1. Empty: the provider's own address."`
	Model    string `env:"MODEL" placeholder:"NAME" help:"Model of agents that do not name one."`
	APIKey   string `env:"API_KEY" placeholder:"SECRET" help:"The provider's key."`
}

// secrets can also be given as the path of a file, in NAME_FILE.
func (c *Config) secrets() map[string]*string {
	return map[string]*string{
		"DATABASE_URL": &c.DatabaseURL, "NATS_URL": &c.NATSURL, "OIDC_CLIENT_SECRET": &c.OIDC.ClientSecret, "SMTP_URL": &c.SMTP.URL,
		"S3_SECRET_KEY": &c.S3.SecretKey, "LLM_API_KEY": &c.LLM.APIKey,
	}
}

// Runs reports whether this process runs a part: mcp, a2a, rest, agents, web
// or worker.
func (c *Config) Runs(part string) bool {
	return len(c.Only) == 0 || slices.Contains(c.Only, part)
}
