package replies

import (
	"bytes"
	"cmp"
	"strconv"

	"github.com/beeos/beeos/internal/surface/mcp/wire"
	"github.com/beeos/beeos/internal/wire/strictjson"
)

// Clients refuse a result as a whole for a content block that their revision
// does not know. So what is newer is shown to them in older words: a link as
// text, since only its client knows whether to follow it, and sound as an
// embedded resource, which holds its bytes.

// RenderFor returns the result of a method with its content in the words of a
// revision. A caller that names no revision reads JSON as it is.
func RenderFor(v wire.Version, method string, result []byte) []byte {
	if v == wire.Unversioned || v >= wire.V20250618 || wire.Kind(result) != '{' {
		return result
	}
	switch method {
	case "tools/call":
		return editArray(result, "content", func(i int, block []byte) []byte { return renderBlock(v, i, block) })
	case "prompts/get":
		return editArray(result, "messages", func(i int, message []byte) []byte {
			block := strictjson.Field(message, "content")
			if shown := renderBlock(v, i, block); !bytes.Equal(shown, block) {
				return wire.ReplaceMember(message, "content", shown)
			}
			return message
		})
	}
	return result
}

// editArray copies an object with other elements in one of its members, if any
// of them is another.
func editArray(obj []byte, name string, edit func(i int, element []byte) []byte) []byte {
	array := strictjson.Field(obj, name)
	if wire.Kind(array) != '[' {
		return obj
	}
	edited, elements, i := false, []byte{'['}, 0
	for element := range strictjson.Elements(array) {
		shown := edit(i, element)
		edited = edited || !bytes.Equal(shown, element)
		if i++; i > 1 {
			elements = append(elements, ',')
		}
		elements = append(elements, shown...)
	}
	if !edited {
		return obj
	}
	return wire.ReplaceMember(obj, name, append(elements, ']'))
}

// renderBlock returns a content block in the words of a revision; i is its
// place.
func renderBlock(v wire.Version, i int, block []byte) []byte {
	var shown []byte
	switch kind, _ := strictjson.StringField(block, "type"); {
	case kind == "resource_link" && v < wire.V20250618:
		shown = wire.AppendTextBlock(nil, linkText(block))
	case kind == "audio" && v < wire.V20250326:
		shown = embeddedAudio(i, block)
	default:
		return block
	}
	if annotations := strictjson.Field(block, "annotations"); wire.Kind(annotations) == '{' {
		shown = append(append(append(shown[:len(shown)-1], `,"annotations":`...), annotations...), '}')
	}
	return shown
}

// linkText is a link to a resource for a model to read.
func linkText(link []byte) string {
	uri, _ := strictjson.StringField(link, "uri")
	name, _ := strictjson.StringField(link, "name")
	title, _ := strictjson.StringField(link, "title")
	text := "Resource " + strconv.Quote(cmp.Or(title, name, uri))
	if mime, _ := strictjson.StringField(link, "mimeType"); mime != "" {
		text += " (" + mime + ")"
	}
	text += ": " + uri
	if about, _ := strictjson.StringField(link, "description"); about != "" {
		text += "\n" + about
	}
	return text
}

// embeddedAudio is sound as the contents of a resource, which needs a URI: this
// one says what it is, and cannot be read again.
func embeddedAudio(i int, block []byte) []byte {
	b := wire.AppendText([]byte(`{"type":"resource","resource":{"uri":`), "beeos://content/audio/"+strconv.Itoa(i))
	for _, member := range [][2]string{{"mimeType", "mimeType"}, {"blob", "data"}} {
		if value := strictjson.Field(block, member[1]); value != nil {
			b = append(append(b, `,"`+member[0]+`":`...), value...)
		}
	}
	return append(b, `}}`...)
}
