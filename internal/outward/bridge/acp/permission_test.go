package acp_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/outward/bridge/acp"
	"github.com/beeos/beeos/test/bridgetest"
)

const bothOnce = `"allow_always","allow_once","reject_once"`

// permit is a message that has the agent ask whether it may.
func permit(call, options string) string {
	return `permit {"call":` + call + `,"options":[` + options + `]}`
}

// TestPersonDecidesAboutTools: a yes is for the one call and never for more, a no is
// a no, and who asks twice is answered twice.
func TestPersonDecidesAboutTools(t *testing.T) {
	s := connect(t, "x", acp.Options{})
	call := `{"toolCallId":"1","name":"Write","title":"Write a.txt","kind":"edit","rawInput":{"file_path":"a.txt","content":"x"}}`
	for range 2 {
		for _, approve := range []bool{true, false} {
			answer := make(chan client.Answer, 1)
			go func() { answer <- s.say(permit(call, bothOnce)) }()
			a := bridgetest.AwaitApproval(t, s.c)
			if want := `{"title":"Write a.txt","kind":"edit","input":{"file_path":"a.txt","content":"x"},"if_approved":"Name of allow_once"}`; a.Tool != "Write" || string(a.Arguments) != want {
				t.Errorf("asked about %s %s", a.Tool, a.Arguments)
			}
			var err error
			if approve {
				_, err = s.c.Approve(t.Context(), a.ID)
			} else {
				_, err = s.c.Reject(t.Context(), a.ID, "not today")
			}
			if err != nil {
				t.Fatal(err)
			}
			want := `{"outcome":{"outcome":"selected","optionId":"o-` + map[bool]string{true: "allow_once", false: "reject_once"}[approve] + `"}}`
			if got := <-answer; got.Text != want {
				t.Errorf("approved %v: %s", approve, got.Text)
			}
		}
	}
}

// TestHugeChangesAreShownInPart with what they are by their sums.
func TestHugeChangesAreShownInPart(t *testing.T) {
	s := connect(t, "x", acp.Options{})
	answer := make(chan client.Answer, 1)
	call := `{"toolCallId":"1","kind":"edit","content":[{"type":"diff","path":"big.txt","oldText":"` + strings.Repeat("a", 300_000) + `","newText":"` + strings.Repeat("b", 300_000) + `"}]}`
	go func() { answer <- s.say(permit(call, bothOnce)) }()
	a := bridgetest.AwaitApproval(t, s.c)
	if text := string(a.Arguments); len(text) > 10_000 || !strings.Contains(text, "big.txt") || !strings.Contains(text, "300000 bytes, SHA-256 ") {
		t.Errorf("%d bytes: %.500s", len(text), text)
	}
	if _, err := s.c.Approve(t.Context(), a.ID); err != nil {
		t.Fatal(err)
	}
	if got := <-answer; !strings.Contains(got.Text, "o-allow_once") {
		t.Errorf("%+v", got)
	}
}

// TestOutsideIsRefusedWithoutAsking wherever the path is said, and so is a
// permission that cannot be given for one call.
func TestOutsideIsRefusedWithoutAsking(t *testing.T) {
	s := connect(t, "x", acp.Options{})
	outside := t.TempDir()
	if err := os.Symlink(outside, filepath.Join(s.dir, "link")); err != nil {
		t.Fatal(err)
	}
	for _, call := range []string{
		`{"toolCallId":"1","kind":"edit","locations":[{"path":"/etc/passwd"}]}`,
		`{"toolCallId":"2","kind":"edit","rawInput":{"file_path":"../x"}}`,
		`{"toolCallId":"3","kind":"edit","rawInput":{"edits":[{"path":"ok"},{"path":"link/x"}]}}`,
		`{"toolCallId":"4","kind":"edit","content":[{"type":"diff","path":"` + outside + `/x","newText":"y"}]}`,
		`{"toolCallId":"5","kind":"execute","rawInput":{"command":"ls","cwd":"/"}}`,
		`{"toolCallId":"6","kind":"other","rawInput":{"where":"file:///etc/hosts"}}`,
	} {
		s.want(permit(call, bothOnce), `{"outcome":{"outcome":"selected","optionId":"o-reject_once"}}`)
		steps := s.steps()
		if last := steps[len(steps)-1]; !strings.Contains(last.Error, "refused without asking anybody") || !strings.Contains(last.Error, "is outside of the folder") {
			t.Errorf("%s: %+v", call, steps)
		}
	}
	s.want(permit(`{"toolCallId":"7","kind":"edit"}`, `"allow_always","reject_always"`), `{"outcome":{"outcome":"selected","optionId":"o-reject_always"}}`)
	s.want(permit(`{"toolCallId":"8","kind":"edit"}`, `"allow_always"`), `{"outcome":{"outcome":"cancelled"}}`)
	if open, err := s.c.Approvals(t.Context(), ""); err != nil || len(open) > 0 {
		t.Errorf("somebody was asked: %+v, %v", open, err)
	}
	if n := strings.Count(s.log.String(), "is refused without asking anybody"); n != 8 {
		t.Errorf("%d lines in the log", n)
	}
}

// TestCancelReachesQuestions: the program hears that nobody decides any more.
func TestCancelReachesQuestions(t *testing.T) {
	s := connect(t, "x", acp.Options{})
	call := `{"toolCallId":"1","kind":"edit"}`
	bridgetest.CancelTurn(t, s.app, s.id, permit(call, bothOnce), func() { bridgetest.AwaitApproval(t, s.c) })
	s.log.Await(t, "cancelled s")
	s.log.Await(t, `permitted {\"outcome\":{\"outcome\":\"cancelled\"}}`) // as the log quotes it
	s.want("hi", "you said: hi")
}

// TestFilesStayInTheFolder: what is asked for by the protocol is refused unless the
// operator allows it, and never leaves the folder.
func TestFilesStayInTheFolder(t *testing.T) {
	closed := connect(t, "x", acp.Options{})
	for _, method := range []string{"fs/read_text_file", "fs/write_text_file", "terminal/create"} {
		if got := closed.say(fmt.Sprintf(`request %s {"path":%q,"command":"true"}`, method, filepath.Join(closed.dir, "a"))); !strings.Contains(got.Text, "is not allowed here") {
			t.Errorf("%s: %s", method, got.Text)
		}
	}
	s := connect(t, "x", acp.Options{Allow: []string{"read", "write", "terminal"}})
	outside := t.TempDir()
	if err := os.Symlink(outside, filepath.Join(s.dir, "link")); err != nil {
		t.Fatal(err)
	}
	s.want(`request fs/write_text_file {"path":"`+s.dir+`/new/a.txt","content":"one\ntwo\nthree\n"}`, `{}`)
	s.want(`request fs/read_text_file {"path":"`+s.dir+`/new/a.txt","line":2,"limit":1}`, `{"content":"two\n"}`)
	for _, path := range []string{"/etc/passwd", s.dir + "/../x", "../x", s.dir + "/link/x", "~/x"} {
		for _, method := range []string{"fs/read_text_file", "fs/write_text_file"} {
			if got := s.say(`request ` + method + ` {"path":"` + path + `","content":"y"}`); !strings.Contains(got.Text, "is outside of the folder") {
				t.Errorf("%s %s: %s", method, path, got.Text)
			}
		}
		if got := s.say(`request terminal/create {"command":"true","cwd":"` + path + `"}`); !strings.Contains(got.Text, "is outside of the folder") {
			t.Errorf("terminal in %s: %s", path, got.Text)
		}
	}
	if left, err := os.ReadDir(outside); err != nil || len(left) > 0 {
		t.Errorf("outside: %v, %v", left, err)
	}
	s.want(`terminal echo "$WHOM in $(pwd)" && exit 3`, `{"output":"you in `+s.dir+`\n","truncated":false,"exitStatus":{"exitCode":3,"signal":null}}`)
	s.want(`terminal echo "key: $BEEOS_KEY"`, `{"output":"key: \n","truncated":false,"exitStatus":{"exitCode":0,"signal":null}}`)
}
