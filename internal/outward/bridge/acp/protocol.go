package acp

import (
	"encoding/json"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/outward/bridge/upstream"
)

const protocolVersion = 1

// introduction is what we say about ourselves.
func (b *bridge) introduction() any {
	type object = map[string]any
	return object{
		"protocolVersion": protocolVersion,
		"clientInfo":      object{"name": "beeos", "title": "BeeOS", "version": beeos.Version},
		"clientCapabilities": object{
			"fs":          object{"readTextFile": b.allows(allowRead), "writeTextFile": b.allows(allowWrite)},
			"terminal":    b.allows(allowTerminal),
			"elicitation": object{"form": object{}},
		},
	}
}

// about is what a program says about itself.
type about struct {
	Version int                                   `json:"protocolVersion"`
	Agent   struct{ Name, Title, Version string } `json:"agentInfo"`
	Can     struct {
		Load   bool `json:"loadSession"`
		Prompt struct {
			Image    bool `json:"image"`
			Audio    bool `json:"audio"`
			Embedded bool `json:"embeddedContext"`
		} `json:"promptCapabilities"`
		Session struct {
			Resume *struct{} `json:"resume"`
			Close  *struct{} `json:"close"`
		} `json:"sessionCapabilities"`
	} `json:"agentCapabilities"`
	Logins []struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	} `json:"authMethods"`
}

// canReopen reports whether a session can be gone on with after it was closed.
func (a *about) canReopen() bool { return a.Can.Session.Resume != nil || a.Can.Load }

// listLogins names the ways to log in.
func (a *about) listLogins() string {
	var names []string
	for _, l := range a.Logins {
		names = append(names, upstream.Shorten(l.Name)+" ("+upstream.Shorten(l.ID)+")")
	}
	if len(names) == 0 {
		return "none over the protocol"
	}
	return strings.Join(names[:min(len(names), 10)], ", ")
}

// openParams are those of session/new, session/load and session/resume.
type openParams struct {
	Session string `json:"sessionId,omitempty"`
	Cwd     string `json:"cwd"`
	Servers []any  `json:"mcpServers"`
}

// opened is what comes of them.
type opened struct {
	Session string         `json:"sessionId"`
	Options []configOption `json:"configOptions"`
	Modes   struct {
		Available []struct {
			ID string `json:"id"`
		} `json:"availableModes"`
	} `json:"modes"`
	Models struct {
		Current string `json:"currentModelId"`
	} `json:"models"`
}

// model is the model that a session begins with; "" = it does not say.
func (o *opened) model() string {
	if name := modelOf(o.Options); name != "" {
		return name
	}
	return o.Models.Current
}

// configOption is a setting of a session.
type configOption struct {
	ID       string          `json:"id"`
	Category string          `json:"category"`
	Current  json.RawMessage `json:"currentValue"`
	Choices  json.RawMessage `json:"options"`
}

func modelOf(options []configOption) (name string) {
	for _, o := range options {
		if o.Category == "model" && json.Unmarshal(o.Current, &name) == nil {
			return upstream.Shorten(name)
		}
	}
	return ""
}

// promptResult is how a prompt ended.
type promptResult struct {
	Reason string `json:"stopReason"`
	Usage  *usage `json:"usage"`
}

// usage is what a prompt took. The kinds of tokens add up to the total, by the
// protocol.
type usage struct {
	Total        int64 `json:"totalTokens"`
	Input        int64 `json:"inputTokens"`
	Output       int64 `json:"outputTokens"`
	Thought      int64 `json:"thoughtTokens"`
	CachedRead   int64 `json:"cachedReadTokens"`
	CachedWrites int64 `json:"cachedWriteTokens"`
}

// tokens are those that went in and came out. Some programs count a part of them
// twice, against the protocol; their total tells.
func (u *usage) tokens() (input, output int64) {
	input, output = u.Input+u.CachedRead+u.CachedWrites, u.Output+u.Thought
	if u.Total > 0 && input+output > u.Total {
		return u.Input, u.Output
	}
	return input, output
}

// content is a block of text, picture, sound or document.
type content struct {
	Type     string           `json:"type"`
	Text     string           `json:"text,omitempty"`
	Data     []byte           `json:"data,omitempty"`
	MIMEType string           `json:"mimeType,omitempty"`
	URI      string           `json:"uri,omitempty"`
	Name     string           `json:"name,omitempty"`
	Size     int64            `json:"size,omitempty"`
	Resource *contentResource `json:"resource,omitempty"`
}

type contentResource struct {
	URI      string  `json:"uri"`
	MIMEType string  `json:"mimeType,omitempty"`
	Text     *string `json:"text,omitempty"`
	Blob     []byte  `json:"blob,omitempty"`
}

// update is what a program tells of a session; which of it counts, Kind says.
type update struct {
	Kind    string          `json:"sessionUpdate"`
	Message string          `json:"messageId"`
	Content json.RawMessage `json:"content"` // of a chunk a block, of a tool call a list
	Entries []planEntry     `json:"entries"`
	Options []configOption  `json:"configOptions"`
	Cost    *struct {
		Amount   float64 `json:"amount"`
		Currency string  `json:"currency"`
	} `json:"cost"`
	Meta struct {
		Model string `json:"_claude/model"`
	} `json:"_meta"`
	toolUpdate
}

type planEntry struct {
	Content string `json:"content"`
	Status  string `json:"status"`
}

// toolUpdate is what is said of a tool call; what is empty is as before.
type toolUpdate struct {
	ID        string          `json:"toolCallId"`
	Name      string          `json:"name"`
	Title     string          `json:"title"`
	ToolKind  string          `json:"kind"`
	Status    string          `json:"status"`
	Locations []location      `json:"locations"`
	Input     json.RawMessage `json:"rawInput"`
}

type location struct {
	Path string `json:"path"`
	Line int    `json:"line,omitempty"`
}

// toolContent is what a tool call has produced, or would.
type toolContent struct {
	Type    string  `json:"type"`
	Content content `json:"content"`
	Path    string  `json:"path"` // of a diff
	Old     *string `json:"oldText"`
	New     string  `json:"newText"`
}

// permissionParams ask whether a tool may be used.
type permissionParams struct {
	Session string `json:"sessionId"`
	Call    struct {
		toolUpdate
		Content json.RawMessage `json:"content"`
	} `json:"toolCall"`
	Options []permissionOption `json:"options"`
}

type permissionOption struct {
	ID   string `json:"optionId"`
	Name string `json:"name"`
	Kind string `json:"kind"`
}

// outcome answers them.
type outcome struct {
	Outcome string `json:"outcome"`
	Option  string `json:"optionId,omitempty"`
}

type fileParams struct {
	Session string `json:"sessionId"`
	Path    string `json:"path"`
	Line    *int   `json:"line"`
	Limit   *int   `json:"limit"`
	Content string `json:"content"`
}

type terminalParams struct {
	Session  string   `json:"sessionId"`
	Terminal string   `json:"terminalId"`
	Command  string   `json:"command"`
	Args     []string `json:"args"`
	Cwd      string   `json:"cwd"`
	Limit    int      `json:"outputByteLimit"`
	Env      []struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	} `json:"env"`
}

type questionParams struct {
	Session string          `json:"sessionId"`
	Mode    string          `json:"mode"`
	Message string          `json:"message"`
	Schema  json.RawMessage `json:"requestedSchema"`
}
