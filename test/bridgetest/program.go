// Package bridgetest is what the tests of the bridges share: Connect runs a
// bridge against a running system, Journal is the log that it writes, and Main,
// NewMCPServer and WriteEvents are what stands behind it: a program, an MCP
// server and an agent of another platform.
package bridgetest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
)

// Main runs the tests of a package, or, in a process that a test has started
// with BRIDGE_TEST_PROGRAM or BRIDGE_TEST_MCP set, the program behind the agent.
func Main(m *testing.M) {
	switch {
	case os.Getenv("BRIDGE_TEST_PROGRAM") != "":
		runProgram()
		return
	case os.Getenv("BRIDGE_TEST_MCP") != "":
		serveMCP()
		return
	}
	os.Exit(m.Run())
}

// runProgram does what the text of a message says.
func runProgram() {
	fmt.Fprintln(os.Stderr, "hello from stderr")
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var m struct {
			ID, Text, Cancel string
			Decision         *struct {
				Request, Reason   string
				Approved, Expired bool
			}
		}
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			panic(err)
		}
		id, _ := json.Marshal(m.ID)
		say := func(postREST string) { fmt.Printf(`{"id":%s,%s}`+"\n", id, postREST) }
		switch {
		case m.Decision != nil:
			said, _ := json.Marshal(fmt.Sprint(m.Decision.Request, " ", m.Decision.Approved, " ", m.Decision.Reason))
			say(`"reply":` + string(said))
		case m.Text == "save":
			say(`"approve":{"request":"q1","tool":"save_csv","arguments":{"path":"a.csv"}}`)
		case m.Text == "give up":
			say(`"approve":{"request":"q2","tool":"save_csv","arguments":{"path":"b.csv"}}`)
			say(`"reply":"never mind"`)
		case m.Cancel != "":
			fmt.Fprintln(os.Stderr, "cancelled:", m.Cancel)
		case m.Text == "crash":
			say(`"delta":"I am "`)
			os.Exit(3)
		case m.Text == "shout":
			say(`"reply":"` + strings.Repeat("A", 5<<20) + `"`)
		case m.Text == "hang":
			fmt.Fprintln(os.Stderr, "hanging")
		case m.Text == "fail":
			say(`"error":"as you wish"`)
		case m.Text == "noise":
			fmt.Println("not JSON\n\n{}")
			say(`"progress":1,"total":2,"message":"half"`)
			say(`"reasoning":"hm","reply":"fine","parts":[{"type":"text","text":"x"}],"structured":{"n":1}`)
			say(`"reply":"twice"`)
		default:
			say(`"delta":"you said: "`)
			text, _ := json.Marshal(m.Text)
			say(`"reply":` + string(text))
		}
	}
	fmt.Fprintln(os.Stderr, "bye")
}
