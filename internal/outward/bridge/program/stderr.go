package program

import (
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/internal/outward/bridge/settings"
	"github.com/beeos/beeos/internal/outward/bridge/upstream"
)

// What the program writes to stderr while it works on a message is also for the page
// of the agent: whoever looks for a fault there need not find the machine first.
const (
	maxStderrLine   = 500 // bytes that are passed on of a line
	linesPerSecond  = 20
	linesQueued     = 100
	lastLinesWithin = time.Second // for what a program says at its end
	stderrLogger    = "stderr"
)

// stderrLines passes lines on, as many as are good for a page.
type stderrLines struct {
	newest  func() *agent.Reply
	secrets []string
	now     func() time.Time
	queue   chan stderrLine
	sent    sync.WaitGroup

	second  time.Time // since when lines are counted
	count   int
	dropped int
}

// stderrLine is one, and the answer that it was written for.
type stderrLine struct {
	to   *agent.Reply
	text string
}

func newStderrLines(newest func() *agent.Reply, secrets []string) *stderrLines {
	return &stderrLines{newest: newest, secrets: secrets, now: time.Now, queue: make(chan stderrLine, linesQueued)}
}

// run passes on what was taken until close.
func (s *stderrLines) run() {
	s.sent.Go(func() {
		for l := range s.queue {
			l.to.LogForOwner(slog.LevelInfo, stderrLogger, l.text)
		}
	})
}

// add takes a line. When the program works on nothing, it is in the bridge's own log
// alone. It never waits: a program must not stand still because nobody reads.
func (s *stderrLines) add(line string) {
	to := s.newest()
	line = plainText(line)
	if to == nil || line == "" {
		return
	}
	if now := s.now(); now.Sub(s.second) >= time.Second {
		s.second, s.count = now, 0
		if s.dropped > 0 {
			line = fmt.Sprintf("(%d lines are only in the log of the bridge) %s", s.dropped, line)
			s.dropped = 0
		}
	}
	if s.count++; s.count > linesPerSecond {
		s.dropped++
		return
	}
	select {
	case s.queue <- stderrLine{to, beeos.Shorten(upstream.HideSecrets(line, s.secrets...), maxStderrLine)}:
	default:
		s.dropped++
	}
}

// close passes on what is left, but does not wait for long.
func (s *stderrLines) close() {
	close(s.queue)
	done := make(chan struct{})
	go func() { s.sent.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(lastLinesWithin):
	}
}

// escapes are the codes with which programs colour a terminal, and set its title.
var escapes = regexp.MustCompile(`\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])`)

// plainText is a line without what is for terminals. What was written over is left
// out, as of a progress bar.
func plainText(line string) string {
	line = strings.TrimRight(escapes.ReplaceAllString(strings.ToValidUTF8(line, "�"), ""), "\r\n\t ")
	return strings.TrimLeft(line[strings.LastIndexByte(line, '\r')+1:], "\r\n")
}

// secretNames are what variables are called whose values no log may show.
var secretNames = regexp.MustCompile(`(?i)(KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL)`)

// FindSecrets lists what of the program's environment must not leave the machine.
func FindSecrets(s *settings.Bridge) []string {
	env := s.Env
	if env == nil {
		env = os.Environ()
	}
	secrets := append(upstream.SecretsOf(s.Header), s.Agent.Key)
	for _, entry := range env {
		if name, value, _ := strings.Cut(entry, "="); len(value) >= 6 && secretNames.MatchString(name) {
			secrets = append(secrets, value)
		}
	}
	return secrets
}
