package rest_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/beeos/beeos"
)

type questionJSON struct {
	Status   string
	Question *struct{ Type, Text string }
}

// TestPausedTaskShowsItsQuestion: who looks at a task that waits learns for what.
func TestPausedTaskShowsItsQuestion(t *testing.T) {
	s := start(t)
	turns := s.silent()
	made := ok[taskJSON](s, "POST", s.tasksPath(), `{"message":"paint"}`)
	f := <-turns
	path := s.tasksPath() + "/" + made.ID
	if got := ok[questionJSON](s, "GET", path, ""); got.Question != nil {
		t.Errorf("nothing is asked: %+v", got.Question)
	}
	s.pause(f, beeos.AgentInputRequired)
	got := ok[questionJSON](s, "GET", path, "")
	if got.Status != "input_required" || got.Question == nil || got.Question.Text != "which?" || got.Question.Type != "agent.input_required" {
		t.Errorf("asked: %+v", got)
	}
	if got = ok[questionJSON](s, "POST", path+"/continue", `{"input":"red"}`); got.Question != nil {
		t.Errorf("answered: %+v", got)
	}
	s.pause(f, beeos.AgentAuthRequired)
	if got = ok[questionJSON](s, "GET", path, ""); got.Question == nil || got.Question.Type != "agent.auth_required" {
		t.Errorf("the second question: %+v", got)
	}
}

type madeKey struct{ ID, Key string }

// TestCallsOfAgentKeysAreSeenByOwnerAndHolder, and by nobody else.
func TestCallsOfAgentKeysAreSeenByOwnerAndHolder(t *testing.T) {
	s := start(t)
	turns := s.silent()
	ok[agentJSON](s, "PATCH", "/api/v1/agents/"+s.agent, `{"visibility":"public"}`)
	newKey := func(name string) madeKey {
		return ok[madeKey](s, "POST", "/api/v1/agents/"+s.agent+"/keys", `{"name":"`+name+`"}`)
	}
	holder, neighbour := newKey("holder"), newKey("neighbour")
	call := func(key string) string {
		resp := s.send("POST", s.invokePath(), key, `{"message":"x","timeout_ms":1}`)
		resp.Body.Close()
		return (<-turns).MessageID
	}

	id := call(holder.Key)
	path := s.tasksPath() + "/" + id
	for who, key := range map[string]string{"the holder": holder.Key, "the owner": s.key} {
		for _, at := range []string{path, path + "/messages"} {
			if a := s.do("GET", at, key, ""); a.status != 200 || !strings.Contains(a.raw, id) {
				t.Errorf("%s: %s: %d %s", who, at, a.status, a.raw)
			}
		}
	}
	for who, key := range map[string]string{"another key": neighbour.Key, "a stranger": s.other} {
		for method, at := range map[string]string{"GET ": path, "GET": path + "/messages", "GET  ": path + "/events", "POST": path + "/cancel", "POST ": path + "/continue"} {
			if a := s.do(strings.TrimSpace(method), at, key, `{"input":"x"}`); a.status != 404 {
				t.Errorf("%s: %s: %d %s", who, at, a.status, a.raw)
			}
		}
	}
	if own := s.do("GET", s.tasksPath(), holder.Key, ""); !strings.Contains(own.raw, id) {
		t.Errorf("the holder lists %s", own.raw)
	}
	if mine := s.do("GET", s.tasksPath(), s.key, ""); strings.Contains(mine.raw, id) {
		t.Errorf("the owner's own are %s", mine.raw)
	}
	if of := s.do("GET", s.tasksPath()+"?key_id="+holder.ID, s.key, ""); !strings.Contains(of.raw, id) {
		t.Errorf("the owner lists %s", of.raw)
	}
	for who, key := range map[string]string{"another key": neighbour.Key, "a stranger": s.other} {
		if a := s.do("GET", s.tasksPath()+"?key_id="+holder.ID, key, ""); a.status != 404 {
			t.Errorf("%s lists the holder's: %d %s", who, a.status, a.raw)
		}
	}
	if a := s.do("POST", path+"/continue", s.key, `{"input":"x"}`); a.status != 404 {
		t.Errorf("the owner speaks for the holder: %d %s", a.status, a.raw)
	}
}

// TestAgentKeyContinuesAndCancelsItsTasks, and the owner cancels them.
func TestAgentKeyContinuesAndCancelsItsTasks(t *testing.T) {
	s := start(t)
	turns := s.silent()
	holder := ok[madeKey](s, "POST", "/api/v1/agents/"+s.agent+"/keys", `{"name":"holder"}`)
	var ended sync.WaitGroup
	defer ended.Wait()
	call := func() beeos.Frame {
		ended.Go(func() { // answered when the task ends
			resp := s.send("POST", s.invokePath(), holder.Key, `{"message":"x"}`)
			resp.Body.Close()
		})
		return <-turns
	}
	first, second := call(), call()
	path := s.tasksPath() + "/" + first.MessageID
	s.pause(first, beeos.AgentInputRequired)
	if a := s.do("POST", path+"/continue", holder.Key, `{"input":"red"}`); a.status != 200 || !strings.Contains(a.raw, "running") {
		t.Errorf("continue: %d %s", a.status, a.raw)
	}
	for key, f := range map[string]beeos.Frame{holder.Key: first, s.key: second} {
		ended.Go(func() { // side by side: the agent is given time to say that it has stopped
			if a := s.do("POST", s.tasksPath()+"/"+f.MessageID+"/cancel", key, `{}`); a.status != 200 || !strings.Contains(a.raw, `"canceled"`) {
				t.Errorf("cancel: %d %s", a.status, a.raw)
			}
		})
	}
}
