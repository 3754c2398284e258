package catalog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/beeos/beeos/internal/surface/mcp/wire"
)

// frontMatterMax is how many bytes of YAML are parsed for one skill.
const frontMatterMax = 64 << 10

// readFrontMatter reads the YAML head of a SKILL.md, the lines between two of
// dashes, as a JSON object in the same order. It takes scalars, and lists and
// maps of scalars in block style. A head that uses more makes no skill:
// clients compare our reading with the file, so a doubtful one is worse than
// none.
func readFrontMatter(text string) (object []byte, name string, ok bool) {
	defer func() {
		if recover() != nil { // an agent wrote it, and the parser is not ours
			ok = false
		}
	}()
	head, ok := cutFrontMatter(text)
	if !ok || len(head) > frontMatterMax {
		return nil, "", false
	}
	var doc yaml.Node
	if yaml.Unmarshal([]byte(head), &doc) != nil || len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
		return nil, "", false
	}
	object, ok = encodeYAML(doc.Content[0], 2)
	var said struct{ Name, Description any }
	if !ok || json.Unmarshal(object, &said) != nil {
		return nil, "", false
	}
	name, _ = said.Name.(string)
	description, _ := said.Description.(string)
	return object, name, name != "" && description != ""
}

// cutFrontMatter returns the lines between the dashes.
func cutFrontMatter(text string) (head string, ok bool) {
	text = strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n")
	if text, ok = strings.CutPrefix(text, "---\n"); !ok {
		return "", false
	}
	head, _, ok = strings.Cut(text, "\n---")
	return head + "\n", ok
}

// encodeYAML writes a node as JSON. Lists and maps go as deep as it says;
// anchors and aliases, which make a bomb of a few lines, are refused.
func encodeYAML(n *yaml.Node, depth int) ([]byte, bool) {
	if n.Anchor != "" || n.LineComment != "" || n.Style&(yaml.FlowStyle|yaml.TaggedStyle) != 0 {
		return nil, false
	}
	switch {
	case n.Kind == yaml.ScalarNode:
		return encodeYAMLScalar(n)
	case n.Kind == yaml.MappingNode && depth > 0:
		return encodeYAMLMap(n, depth)
	case n.Kind == yaml.SequenceNode && depth > 0:
		var items [][]byte
		for _, one := range n.Content {
			item, ok := encodeYAML(one, 0)
			if !ok {
				return nil, false
			}
			items = append(items, item)
		}
		return fmt.Appendf(nil, `[%s]`, bytes.Join(items, []byte{','})), true
	}
	return nil, false
}

func encodeYAMLMap(n *yaml.Node, depth int) ([]byte, bool) {
	var members [][]byte
	seen := map[string]bool{}
	for i := 0; i < len(n.Content); i += 2 {
		key := n.Content[i]
		value, ok := encodeYAML(n.Content[i+1], depth-1)
		if !ok || key.ShortTag() != "!!str" || key.Anchor != "" || seen[key.Value] {
			return nil, false
		}
		seen[key.Value] = true
		members = append(members, fmt.Appendf(nil, `%s:%s`, wire.EncodeText(key.Value), value))
	}
	return fmt.Appendf(nil, `{%s}`, bytes.Join(members, []byte{','})), true
}

func encodeYAMLScalar(n *yaml.Node) ([]byte, bool) {
	switch n.ShortTag() {
	case "!!str", "!!timestamp":
		paragraphs := n.Style&yaml.FoldedStyle != 0 && strings.Contains(strings.TrimSuffix(n.Value, "\n"), "\n")
		return wire.EncodeText(n.Value), !paragraphs
	case "!!bool", "!!null", "!!int", "!!float":
		return []byte(n.Value), json.Valid([]byte(n.Value)) // 0x10 and True are not for everybody
	}
	return nil, false
}
