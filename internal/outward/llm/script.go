package llm

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strings"
)

// Script is a model that decides by itself: it looks at the conversation and
// returns the pieces of its answer. The last piece needs no Stop.
type Script func(Request) []Delta

func (s Script) Stream(ctx context.Context, r Request) iter.Seq2[Delta, error] {
	return func(yield func(Delta, error) bool) {
		stop, words := StopEnd, 0
		for _, d := range s(r) {
			if ctx.Err() != nil {
				yield(Delta{}, context.Cause(ctx))
				return
			}
			if d.Call != nil {
				stop = StopTools
			}
			if d.Stop != "" {
				stop = d.Stop
			}
			words += len(strings.Fields(d.Text))
			d.Stop = ""
			if d != (Delta{}) && !yield(d, nil) {
				return
			}
		}
		if !yield(Delta{Usage: &Usage{Input: countWords(r), Output: max(words, 1)}}, nil) {
			return
		}
		yield(Delta{Stop: stop}, nil)
	}
}

// countWords counts words, which is near enough to tokens for a script.
func countWords(r Request) int {
	n := len(strings.Fields(r.System))
	for _, m := range r.Messages {
		n += len(strings.Fields(m.Text))
	}
	return n
}

// Say returns text in pieces, one per word.
func Say(text string) (list []Delta) {
	for _, word := range strings.SplitAfter(text, " ") {
		list = append(list, Delta{Text: word})
	}
	return list
}

const demoHelp = "I am a script, not a model: give me some numbers to add, or ask me for the time. " +
	"Set LLM_API_KEY and LLM_MODEL (or LLM_URL for a model of your own) and restart to talk to a model instead."

// Demo is the script of `beeos dev`: it shows how an agent uses tools without
// a model behind it. It asks for the sum of the numbers that it is told, or for
// the time, and answers with what the tool says.
var Demo Script = answerDemo

var number = regexp.MustCompile(`-?(?:0|[1-9]\d*)(?:\.\d+)?`)

func answerDemo(r Request) []Delta {
	last := Message{}
	if len(r.Messages) > 0 {
		last = r.Messages[len(r.Messages)-1]
	}
	if last.Role == ToolRole {
		if last.IsError {
			return Say("That did not work: " + last.Text)
		}
		return Say("The answer is " + strings.TrimSpace(last.Text) + ".")
	}
	numbers := number.FindAllString(last.Text, -1)
	if tool := findTool(r.Tools, "add"); tool != "" && len(numbers) > 1 {
		return []Delta{
			{Reasoning: fmt.Sprintf("There are %d numbers in that; I should add them up.", len(numbers))},
			{Call: &Call{ID: "call_1", Name: tool, Arguments: json.RawMessage(`{"numbers":[` + strings.Join(numbers, ",") + `]}`)}},
		}
	}
	if tool := findTool(r.Tools, "now"); tool != "" && strings.Contains(strings.ToLower(last.Text), "time") {
		return []Delta{{Reasoning: "I need a clock for that."}, {Call: &Call{ID: "call_1", Name: tool, Arguments: json.RawMessage(`{}`)}}}
	}
	return Say(demoHelp)
}

// findTool returns the whole name of a tool, whichever skill it is of.
func findTool(tools []Tool, name string) string {
	i := slices.IndexFunc(tools, func(t Tool) bool { return t.Name == name || strings.HasSuffix(t.Name, "__"+name) })
	if i < 0 {
		return ""
	}
	return tools[i].Name
}
