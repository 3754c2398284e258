package rest_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/beeos/beeos"
)

type historyJSON struct {
	ID         string `json:"conversation_id"`
	Version    string `json:"metadataVersion"`
	Generation string `json:"historyGeneration"`
	Boundary   string `json:"historyBoundaryOffset"`
	Messages   []struct {
		Offset     int64
		Generation string `json:"historyGeneration"`
	}
}

// TestConversationsSayWhatTheirAgentHasForgotten: clients that keep copies read
// generation, boundary and version, in decimal strings.
func TestConversationsSayWhatTheirAgentHasForgotten(t *testing.T) {
	s := start(t)
	s.echo()
	made := ok[historyJSON](s, "POST", s.convPath(), `{"title":"a"}`)
	if made.Version != "1" || made.Generation != "0" || made.Boundary != "0" {
		t.Errorf("new: %+v", made)
	}
	path := s.convPath() + "/" + made.ID
	said := func(message string) historyJSON {
		sent := ok[struct {
			ID string `json:"message_id"`
		}](s, "POST", path+"/messages", `{"message":"`+message+`"}`)
		ok[struct{}](s, "POST", "/channels/"+made.ID+"/wait", `{"in_reply_to":"`+sent.ID+`"}`)
		return ok[historyJSON](s, "GET", path+"/messages", "")
	}
	before := said("one")
	last := before.Messages[len(before.Messages)-1].Offset
	if before.Generation != "0" || before.Boundary != "0" || before.Messages[0].Generation != "0" {
		t.Errorf("before: %+v", before)
	}
	if _, err := s.ledger.ClearHistory(t.Context(), made.ID); err != nil {
		t.Fatal(err)
	}
	after := said("two")
	if want := strconv.FormatInt(last, 10); after.Generation != "1" || after.Boundary != want || after.Version == before.Version || after.Version == "" {
		t.Errorf("after: %+v, want boundary %s", after, want)
	}
	if first, newest := after.Messages[0], after.Messages[len(after.Messages)-1]; first.Generation != "0" || newest.Generation != "1" {
		t.Errorf("the forgotten one says %+v, the new one %+v", first, newest)
	}
	renamed := s.do("PATCH", path, s.key, `{"title":"b"}`, "Idempotency-Key", "k")
	if !strings.Contains(renamed.raw, `"metadataVersion":"3"`) {
		t.Errorf("renamed: %s", renamed.raw)
	}
	if err := s.ledger.CloseChannel(t.Context(), made.ID, "done"); err != nil {
		t.Fatal(err)
	}
	list := ok[struct{ Conversations []historyJSON }](s, "GET", s.convPath()+"?limit=5000", "")
	if len(list.Conversations) != 1 || list.Conversations[0].Version != "4" || list.Conversations[0].Generation != "1" {
		t.Errorf("listed: %+v", list)
	}
	task := ok[taskJSON](s, "POST", s.tasksPath(), `{"message":"x"}`)
	if of := ok[historyJSON](s, "GET", s.tasksPath()+"/"+task.ID+"/messages", ""); of.Generation != "0" || of.Boundary != "0" {
		t.Errorf("of a task: %+v", of)
	}
}

// TestLimitAboveTheMostIsTheMost: clients ask for more than there is on a page.
func TestLimitAboveTheMostIsTheMost(t *testing.T) {
	s := start(t)
	for range 101 {
		ch := beeos.Channel{ID: beeos.NewChannelID(), AgentID: s.agent, Owner: "user:" + s.user, Kind: beeos.KindConversation}
		if err := s.ledger.CreateChannel(t.Context(), ch); err != nil {
			t.Fatal(err)
		}
	}
	page := ok[struct {
		Conversations []historyJSON
		Next          string `json:"next_since"`
	}](s, "GET", s.convPath()+"?limit=500", "")
	if len(page.Conversations) != 100 || page.Next == "" {
		t.Errorf("%d conversations, next %q", len(page.Conversations), page.Next)
	}
	for _, path := range []string{"/api/v1/agents?limit=1000", "/api/v1/tasks?limit=1000", "/api/v1/audit?limit=1000", "/api/v1/approvals?limit=1000", "/api/v1/instances?pageSize=1000"} {
		if a := s.do("GET", path, s.key, ""); a.status != 200 {
			t.Errorf("%s: %s", path, a.raw)
		}
	}
}
