package acp_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
)

// scripted is a coding agent that does what the text of a prompt says.
type scripted struct {
	how string // words that say what it can do

	mu       sync.Mutex
	last     int
	answers  map[string]chan wire
	prompts  map[string]int // by session
	cancels  map[string]chan struct{}
	sessions int
}

type wire struct {
	ID     json.RawMessage `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  json.RawMessage `json:"error,omitempty"`
}

type object = map[string]any

// runAgent serves one client.
func runAgent(how string) {
	a := &scripted{how: how, answers: map[string]chan wire{}, prompts: map[string]int{}, cancels: map[string]chan struct{}{}}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var m wire
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			panic(err)
		}
		if m.Method == "" {
			a.mu.Lock()
			answer := a.answers[string(m.ID)]
			a.mu.Unlock()
			if answer != nil {
				answer <- m
			}
			continue
		}
		a.handle(m)
	}
	fmt.Fprintln(os.Stderr, "bye")
}

func (a *scripted) can(what string) bool {
	return strings.Contains(" "+a.how+" ", " "+what+" ")
}

func (a *scripted) write(v any) {
	line, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	os.Stdout.Write(append(line, '\n'))
}

func (a *scripted) result(m wire, v any) { a.write(object{"jsonrpc": "2.0", "id": m.ID, "result": v}) }

func (a *scripted) fail(m wire, code int, text string) {
	a.write(object{"jsonrpc": "2.0", "id": m.ID, "error": object{"code": code, "message": text}})
}

func (a *scripted) update(session string, u object) {
	a.write(object{"jsonrpc": "2.0", "method": "session/update", "params": object{"sessionId": session, "update": u}})
}

func (a *scripted) say(session, text string) {
	a.update(session, object{"sessionUpdate": "agent_message_chunk", "content": object{"type": "text", "text": text}})
}

// ask asks the client and waits.
func (a *scripted) ask(method string, params any) wire {
	a.mu.Lock()
	a.last++
	id := strconv.Itoa(a.last)
	answer := make(chan wire, 1)
	a.answers[id] = answer
	a.mu.Unlock()
	a.write(object{"jsonrpc": "2.0", "id": a.last, "method": method, "params": params})
	return <-answer
}

func (a *scripted) handle(m wire) {
	var p struct {
		Session string            `json:"sessionId"`
		Prompt  []json.RawMessage `json:"prompt"`
		Method  string            `json:"methodId"`
		Cwd     string            `json:"cwd"`
		Mode    string            `json:"modeId"`
		Config  string            `json:"configId"`
		Value   string            `json:"value"`
	}
	_ = json.Unmarshal(m.Params, &p)
	switch m.Method {
	case "initialize":
		switch {
		case a.can("silent"):
			return
		case a.can("newer"):
			a.result(m, object{"protocolVersion": 2})
			return
		}
		session := object{}
		if a.can("close") {
			session["close"] = object{}
		}
		if a.can("resume") {
			session["resume"] = object{}
		}
		a.result(m, object{
			"protocolVersion": 1, "agentInfo": object{"name": "scripted", "title": "A scripted agent", "version": "7"},
			"authMethods": []object{{"id": "key", "name": "A key"}},
			"agentCapabilities": object{
				"loadSession": a.can("load"), "sessionCapabilities": session,
				"promptCapabilities": object{"image": a.can("image"), "embeddedContext": a.can("embedded")},
			},
		})
		fmt.Fprintln(os.Stderr, "initialized by", string(m.Params))
	case "authenticate":
		fmt.Fprintln(os.Stderr, "logged in by", p.Method)
		a.result(m, object{})
	case "session/new":
		if a.can("locked") {
			a.fail(m, -32000, "Authentication required")
			return
		}
		a.sessions++
		got := object{"sessionId": fmt.Sprintf("s%d-%d", os.Getpid(), a.sessions), "configOptions": a.options("tiny"), "modes": object{"currentModeId": "ask", "availableModes": []object{{"id": "ask"}, {"id": "plan"}}}}
		if a.can("fixed") {
			delete(got, "configOptions")
		}
		a.result(m, got)
	case "session/set_config_option":
		fmt.Fprintln(os.Stderr, "set", p.Config, "to", p.Value)
		if p.Value != "tiny" && p.Value != "large" {
			a.fail(m, -32602, "Invalid value")
			return
		}
		a.result(m, object{"configOptions": a.options(p.Value)})
	case "session/set_mode":
		fmt.Fprintln(os.Stderr, "mode", p.Mode)
		if p.Mode != "plan" {
			a.fail(m, -32602, "Invalid mode")
			return
		}
		a.result(m, object{})
	case "session/load", "session/resume":
		if m.Method == "session/load" {
			a.say(p.Session, "what was said before")
		}
		a.mu.Lock()
		a.prompts[p.Session] = 100
		a.mu.Unlock()
		if m.Method == "session/load" {
			a.result(m, object{"configOptions": a.options("tiny")})
			return
		}
		a.result(m, nil)
	case "session/close":
		fmt.Fprintln(os.Stderr, "closed", p.Session)
		a.result(m, object{})
	case "session/cancel":
		fmt.Fprintln(os.Stderr, "cancelled", p.Session)
		a.mu.Lock()
		stop := a.cancels[p.Session]
		delete(a.cancels, p.Session)
		a.mu.Unlock()
		if stop != nil {
			close(stop)
		}
	case "session/prompt":
		var first struct{ Text string }
		_ = json.Unmarshal(p.Prompt[0], &first)
		stop := make(chan struct{})
		a.mu.Lock()
		a.prompts[p.Session]++
		a.cancels[p.Session] = stop
		a.mu.Unlock()
		go a.prompt(m, p.Session, first.Text, p.Prompt, stop)
	}
}

// options are the settings of a session: its model, and some that are none of ours.
func (a *scripted) options(model string) []object {
	return []object{
		{"id": "loud", "type": "boolean", "currentValue": true},
		{"id": "m", "category": "model", "type": "select", "currentValue": model, "options": []object{
			{"group": "a", "options": []object{{"value": "tiny", "name": "Tiny"}}}, {"value": "large", "name": "Large"},
		}},
	}
}

func (a *scripted) prompt(m wire, s, text string, blocks []json.RawMessage, stop <-chan struct{}) {
	word, rest, _ := strings.Cut(text, " ")
	done := object{"stopReason": "end_turn"}
	switch word {
	case "count":
		a.mu.Lock()
		n := a.prompts[s]
		a.mu.Unlock()
		a.say(s, fmt.Sprintf("%s %d", s, n))
	case "blocks":
		raw, _ := json.Marshal(blocks)
		a.say(s, string(raw))
	case "work":
		a.work(s)
		done["usage"] = object{"totalTokens": 160, "inputTokens": 100, "outputTokens": 50, "cachedReadTokens": 10}
	case "permit": // the tool call, and the kinds of its options
		var q struct {
			Call    json.RawMessage
			Options []string
		}
		if err := json.Unmarshal([]byte(rest), &q); err != nil {
			panic(err)
		}
		var options []object
		for _, kind := range q.Options {
			options = append(options, object{"optionId": "o-" + kind, "name": "Name of " + kind, "kind": kind})
		}
		got := a.ask("session/request_permission", object{"sessionId": s, "toolCall": q.Call, "options": options})
		fmt.Fprintln(os.Stderr, "permitted", string(got.Result))
		a.say(s, string(got.Result)+string(got.Error))
	case "request":
		method, params, _ := strings.Cut(rest, " ")
		var p object
		if err := json.Unmarshal([]byte(params), &p); err != nil {
			panic(err)
		}
		p["sessionId"] = s
		got := a.ask(method, p)
		a.say(s, string(got.Result)+string(got.Error))
	case "sh": // by a tool of its own
		out, err := exec.Command("sh", "-c", rest).CombinedOutput()
		a.say(s, fmt.Sprint(string(out), err))
	case "terminal":
		a.terminal(s, rest)
	case "hang":
		fmt.Fprintln(os.Stderr, "hanging in", os.Getpid())
		<-stop
		done["stopReason"] = "cancelled"
	case "deaf":
		fmt.Fprintln(os.Stderr, "deaf")
		return
	case "noise":
		fmt.Println("not JSON\n\n{}\n[]\n{\"jsonrpc\":\"2.0\",\"id\":9999,\"result\":{}}")
		for _, kind := range []string{"notice", "compaction_update", "session_info_update", "something_new", "tool_call", "plan"} {
			a.update(s, object{"sessionUpdate": kind, "title": object{"not": "a text"}, "entries": 7})
		}
		a.update("nobody's", object{"sessionUpdate": "agent_message_chunk", "content": object{"type": "text", "text": "stray"}})
		a.say(s, "fine")
	case "babble":
		for range 2000 {
			fmt.Println("la la la")
		}
		<-stop
	case "endless":
		for range 20 {
			os.Stdout.WriteString(strings.Repeat("A", 1<<20))
		}
		<-stop
	case "stop":
		done["stopReason"] = rest
	case "cut":
		a.say(s, "half")
		done["stopReason"] = "max_tokens"
	case "fail":
		a.fail(m, -32603, rest)
		return
	case "flood": // of questions
		for i := range 200 {
			a.write(object{"jsonrpc": "2.0", "id": 10_000 + i, "method": "session/request_permission", "params": object{
				"sessionId": s, "toolCall": object{"toolCallId": "t", "kind": "edit"}, "options": []object{{"optionId": "y", "name": "y", "kind": "allow_once"}},
			}})
		}
		<-stop
		done["stopReason"] = "cancelled"
	default:
		a.say(s, "you said: ")
		a.say(s, text)
	}
	a.result(m, done)
}

// work does a bit of everything that is told on the way.
func (a *scripted) work(s string) {
	entries := func(first, second string) object {
		return object{"sessionUpdate": "plan", "entries": []object{{"content": "Look", "status": first, "priority": "high"}, {"content": "Do it", "status": second, "priority": "low"}}}
	}
	a.update(s, object{"sessionUpdate": "agent_thought_chunk", "content": object{"type": "text", "text": "Hm."}})
	a.update(s, entries("in_progress", "pending"))
	a.update(s, object{"sessionUpdate": "agent_message_chunk", "messageId": "m1", "content": object{"type": "text", "text": "I look."}})
	a.update(s, object{"sessionUpdate": "tool_call", "toolCallId": "1", "title": "Reading a.txt", "name": "Read", "kind": "read", "status": "pending", "locations": []object{{"path": "a.txt"}}})
	a.update(s, object{"sessionUpdate": "tool_call_update", "toolCallId": "1", "status": "completed"})
	a.update(s, object{"sessionUpdate": "tool_call", "toolCallId": "2", "title": "Running make", "kind": "execute", "status": "pending"})
	a.update(s, object{"sessionUpdate": "tool_call_update", "toolCallId": "2", "status": "failed", "content": []object{{"type": "content", "content": object{"type": "text", "text": "no rule"}}}})
	a.update(s, entries("completed", "in_progress"))
	a.update(s, object{"sessionUpdate": "usage_update", "used": 160, "size": 1000, "cost": object{"amount": 0.25, "currency": "USD"}, "_meta": object{"_claude/model": "tiny-2"}})
	a.update(s, object{"sessionUpdate": "agent_message_chunk", "messageId": "m2", "content": object{"type": "text", "text": "Done"}})
	a.update(s, object{"sessionUpdate": "agent_message_chunk", "messageId": "m2", "content": object{"type": "text", "text": " it."}})
	a.update(s, object{"sessionUpdate": "agent_message_chunk", "messageId": "m2", "content": object{"type": "image", "mimeType": "image/png", "data": "eA=="}})
}

// terminal runs a command and says what came of it.
func (a *scripted) terminal(s, command string) {
	created := a.ask("terminal/create", object{"sessionId": s, "command": command, "env": []object{{"name": "WHOM", "value": "you"}}})
	var t struct {
		ID string `json:"terminalId"`
	}
	if json.Unmarshal(created.Result, &t) != nil || t.ID == "" {
		a.say(s, string(created.Error))
		return
	}
	id := object{"sessionId": s, "terminalId": t.ID}
	a.ask("terminal/wait_for_exit", id)
	out := a.ask("terminal/output", id)
	a.ask("terminal/release", id)
	a.say(s, string(out.Result))
}
