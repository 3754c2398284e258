package mcp

import (
	"encoding/json"
	"regexp"
	"strings"
)

// frontmatter reads the head of a SKILL.md: lines between two of dashes, in
// the part of YAML that such heads use (scalars, blocks of text, lists of
// scalars, maps of scalars). A head that uses more makes no skill: clients
// compare it with the file, so a wrong reading is worse than none.
func frontmatter(text string) (object []byte, name string, ok bool) {
	lines, ok := headLines(text)
	if !ok {
		return nil, "", false
	}
	b := []byte{'{'}
	var description string
	for len(lines) > 0 {
		if blank(lines[0]) {
			lines = lines[1:]
			continue
		}
		key, rest, ok := keyOf(lines[0])
		if !ok {
			return nil, "", false
		}
		block := indented(lines[1:])
		value, ok := yamlValue(rest, block)
		if !ok {
			return nil, "", false
		}
		lines = lines[1+len(block):]
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(append(appendText(b, key), ':'), value...)
		switch key {
		case "name":
			_ = json.Unmarshal(value, &name) // not a string: no name
		case "description":
			_ = json.Unmarshal(value, &description)
		}
	}
	return append(b, '}'), name, name != "" && description != ""
}

// headLines are the lines between the dashes.
func headLines(text string) ([]string, bool) {
	text = strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n")
	head, ok := strings.CutPrefix(text, "---\n")
	if !ok {
		return nil, false
	}
	if head, _, ok = strings.Cut(head, "\n---"); !ok {
		return nil, false
	}
	return strings.Split(head, "\n"), true
}

func blank(line string) bool {
	line = strings.TrimSpace(line)
	return line == "" || line[0] == '#'
}

// indented are the lines that belong to the key above them.
func indented(lines []string) []string {
	n := 0
	for n < len(lines) && (lines[n] == "" || lines[n][0] == ' ' || strings.HasPrefix(lines[n], "- ")) {
		n++
	}
	return lines[:n]
}

var plainKey = regexp.MustCompile(`^[A-Za-z0-9_./-]+$`)

func keyOf(line string) (key, rest string, ok bool) {
	key, rest, ok = strings.Cut(line, ":")
	if !ok || !plainKey.MatchString(key) || rest != "" && rest[0] != ' ' {
		return "", "", false
	}
	return key, strings.TrimSpace(rest), true
}

// yamlValue reads what follows a key: on its line, or in the block below.
func yamlValue(rest string, block []string) ([]byte, bool) {
	block = trimmed(block)
	switch {
	case rest == "|" || rest == "|-":
		return blockText(block, "\n", rest == "|")
	case rest == ">" || rest == ">-":
		return blockText(block, " ", rest == ">")
	case rest != "" && len(block) == 0:
		return scalar(rest)
	case rest != "" || len(block) == 0:
		return nil, false
	case strings.HasPrefix(strings.TrimSpace(block[0]), "- "):
		return sequence(block)
	}
	return mapping(block)
}

func trimmed(block []string) []string {
	for len(block) > 0 && block[len(block)-1] == "" {
		block = block[:len(block)-1]
	}
	return block
}

func blockText(block []string, join string, newline bool) ([]byte, bool) {
	var said []string
	depth := -1
	for _, line := range block {
		text := strings.TrimLeft(line, " ")
		if in := len(line) - len(text); text == "" || depth >= 0 && in != depth {
			return nil, false // paragraphs and deeper lines have rules of their own
		} else {
			depth = in
		}
		said = append(said, text)
	}
	text := strings.Join(said, join)
	if newline {
		text += "\n"
	}
	return appendText(nil, text), true
}

func sequence(block []string) ([]byte, bool) {
	b := []byte{'['}
	for i, line := range block {
		item, ok := strings.CutPrefix(strings.TrimSpace(line), "- ")
		value, ok2 := scalar(strings.TrimSpace(item))
		if !ok || !ok2 {
			return nil, false
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, value...)
	}
	return append(b, ']'), true
}

func mapping(block []string) ([]byte, bool) {
	b := []byte{'{'}
	for i, line := range block {
		key, rest, ok := keyOf(strings.TrimSpace(line))
		value, ok2 := scalar(rest)
		if !ok || !ok2 || rest == "" {
			return nil, false
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(appendText(b, key), ':'), value...)
	}
	return append(b, '}'), true
}

var number = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?$`)

// scalar reads a value on one line.
func scalar(s string) ([]byte, bool) {
	switch {
	case s == "":
		return nil, false
	case s == "true", s == "false", s == "null", number.MatchString(s):
		return []byte(s), true
	case s[0] == '"':
		var text string
		return []byte(s), json.Unmarshal([]byte(s), &text) == nil
	case s[0] == '\'':
		inside, ok := strings.CutSuffix(s[1:], "'")
		return appendText(nil, strings.ReplaceAll(inside, "''", "'")), ok
	case strings.ContainsAny(s[:1], "[]{}&*!|>%@`,?") || strings.Contains(s, ": ") || strings.Contains(s, " #") || s[0] == '~':
		return nil, false
	}
	return appendText(nil, s), true
}
