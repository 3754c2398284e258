package beeos

import (
	"cmp"
	"encoding/json"
	"time"
)

// DeliveryMode says how many messages an agent takes at once. It is declared
// at the first sync and cannot change afterwards.
type DeliveryMode string

const (
	DeliverPush       DeliveryMode = "push"        // all in parallel; nobody connected means offline at once
	DeliverQueue      DeliveryMode = "queue"       // one at a time per lane, the rest wait, offline or not
	DeliverBusyReject DeliveryMode = "busy_reject" // one at a time, the next gets agent_busy at once
)

// Redelivery says what happens to work whose instance died.
type Redelivery string

const (
	RedeliverDefault     Redelivery = ""             // always, but never when the caller gave an idempotency key
	RedeliverAlways      Redelivery = "always"       // give it to another instance, up to MaxAttempts
	RedeliverBeforeStart Redelivery = "before_start" // only while the agent has shown no sign of work on it
	RedeliverNever       Redelivery = "never"        // the caller gets agent_lost
)

// MaxAttempts bounds how often one message is handed to an agent.
const MaxAttempts = 5

// Lane is what queue mode keeps one message at a time in.
type Lane string

const (
	LaneSession Lane = "session" // each channel that a caller keeps, and each caller that keeps none
	LaneAgent   Lane = "agent"   // the whole agent is one lane
)

// Visibility belongs to the owner, never to sync.
type Visibility string

const (
	VisiblePrivate     Visibility = "private"
	VisibleUnlisted    Visibility = "unlisted"
	VisiblePublic      Visibility = "public"
	VisibleMarketplace Visibility = "marketplace"
)

// WhenLeft says what becomes of a call over MCP whose client has left for good
// and can no longer fetch the result.
type WhenLeft string

const (
	LeftDefault WhenLeft = ""      // stop, unless the agent's redelivery is never
	LeftStop    WhenLeft = "stop"  // the agent is told to stop
	LeftGoOn    WhenLeft = "go_on" // it finishes for nobody
)

// StopsWhenLeft reports whether the agent is told when a caller has left. Work
// that must not be repeated is not broken off either, unless its owner says so.
func (a *Agent) StopsWhenLeft() bool {
	if a.WhenLeft == LeftDefault {
		return a.Definition.Redelivery != RedeliverNever
	}
	return a.WhenLeft == LeftStop
}

// Agent is one registered agent as the store knows it.
type Agent struct {
	ID         string
	OwnerID    string
	InstanceID string // the instance that synced it last
	Name       string // unique per owner; sync finds the agent by it
	Slug       string
	Title      string // what its owner calls it; empty = its own DisplayName
	Active     bool   // false once no instance declares it any more
	Visibility Visibility
	MCPEnabled bool
	SelfTool   bool // offer the agent itself as a tool beside its skills
	RateLimit  int  // calls per minute and credential; 0 = the default
	HandOver   bool // answer long calls over MCP with where to fetch the result
	WhenLeft   WhenLeft
	Timeout    time.Duration

	// MetadataOnly keeps from its owner what its callers say and are told; that it
	// was called, by whom and how it went is seen all the same.
	MetadataOnly bool

	Definition  Definition
	Fingerprint string // changes whenever anything a client can see changes
	CreatedAt   time.Time
	UpdatedAt   time.Time
}

// Definition is what an agent says about itself in a sync. The JSON-typed
// fields are kept and served byte for byte.
type Definition struct {
	Name         string          `json:"name"`
	DisplayName  string          `json:"displayName,omitempty"`
	Description  string          `json:"description,omitempty"`
	Version      string          `json:"version,omitempty"`
	Model        string          `json:"model,omitempty"`
	Instructions string          `json:"instructions,omitempty"`
	DeliveryMode DeliveryMode    `json:"delivery_mode,omitempty"`
	Redelivery   Redelivery      `json:"redelivery,omitempty"`
	Lane         Lane            `json:"lane,omitempty"`
	TimeoutMS    int64           `json:"timeout_ms,omitempty"`
	Capabilities json.RawMessage `json:"capabilities,omitempty"`
	Completions  bool            `json:"completions,omitempty"` // it answers completion/complete
	Skills       []Skill         `json:"skills,omitempty"`
	Resources    []Resource      `json:"resources,omitempty"`
	Prompts      []Prompt        `json:"prompts,omitempty"`
}

// PublicVersion is what clients are told: the agent's own, or else ours.
func (d *Definition) PublicVersion() string { return cmp.Or(d.Version, Version) }

// Skill is one capability; unless ExposeAsTool is false it is an MCP tool.
type Skill struct {
	Name         string          `json:"name"`
	Title        string          `json:"title,omitempty"`
	Description  string          `json:"description,omitempty"`
	InputSchema  json.RawMessage `json:"inputSchema,omitempty"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
	Annotations  json.RawMessage `json:"annotations,omitempty"`
	Icons        json.RawMessage `json:"icons,omitempty"`
	Execution    json.RawMessage `json:"execution,omitempty"`
	Meta         json.RawMessage `json:"_meta,omitempty"`
	ExposeAsTool *bool           `json:"exposeAsTool,omitempty"`
	Tags         []string        `json:"tags,omitempty"`
}

// Exposed reports whether the skill is offered as a tool.
func (s Skill) Exposed() bool { return s.ExposeAsTool == nil || *s.ExposeAsTool }

// IsReadOnly reports whether a tool with these annotations says of itself that it
// changes nothing. One that says nothing may change anything.
func IsReadOnly(annotations json.RawMessage) bool {
	var hints struct {
		ReadOnly bool `json:"readOnlyHint"`
	}
	return len(annotations) > 0 && json.Unmarshal(annotations, &hints) == nil && hints.ReadOnly
}

// Resource is something a client can read. With Text or Blob it is static;
// otherwise the agent answers each read. URITemplate makes it a template.
type Resource struct {
	URI         string          `json:"uri,omitempty"`
	URITemplate string          `json:"uriTemplate,omitempty"`
	Name        string          `json:"name"`
	Title       string          `json:"title,omitempty"`
	Description string          `json:"description,omitempty"`
	MIMEType    string          `json:"mimeType,omitempty"`
	Size        *int64          `json:"size,omitempty"`
	Annotations json.RawMessage `json:"annotations,omitempty"`
	Icons       json.RawMessage `json:"icons,omitempty"`
	Meta        json.RawMessage `json:"_meta,omitempty"`
	Text        *string         `json:"text,omitempty"`
	Blob        *string         `json:"blob,omitempty"` // base64
}

// Prompt is a message template. With Messages it is static ({argument} is
// replaced); otherwise the agent renders it.
type Prompt struct {
	Name        string           `json:"name"`
	Title       string           `json:"title,omitempty"`
	Description string           `json:"description,omitempty"`
	Arguments   []PromptArgument `json:"arguments,omitempty"`
	Icons       json.RawMessage  `json:"icons,omitempty"`
	Meta        json.RawMessage  `json:"_meta,omitempty"`
	Messages    json.RawMessage  `json:"messages,omitempty"`
}

// PromptArgument is one declared argument of a Prompt.
type PromptArgument struct {
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	Required    bool   `json:"required,omitempty"`
}

// Instance is one registered identity: an Ed25519 public key that may serve
// its owner's agents. Several processes may share it.
type Instance struct {
	ID        string // also the keyId of its signatures
	OwnerID   string
	Name      string
	PublicKey []byte
	CreatedAt time.Time
	LastSeen  time.Time // for people to look at; routing never reads it
	RevokedAt time.Time
}

// User is a person, or the owner that `beeos dev` makes.
type User struct {
	ID           string
	Email        string
	Name         string
	PasswordHash string
	Admin        bool
	CreatedAt    time.Time
	DisabledAt   time.Time
}
