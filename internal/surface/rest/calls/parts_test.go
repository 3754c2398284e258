package calls

import "testing"

func TestPartsAreThoseOfTheContract(t *testing.T) {
	for name, c := range map[string]struct{ wrote, want string }{
		"nothing":          {``, ``},
		"null":             {`null`, ``},
		"thinking":         {`[{"type":"thinking","text":"hm"}]`, `[{"type":"thinking","text":"hm"}]`},
		"tool use":         {`[{"type":"tool_use","id":"1","name":"n","arguments":{},"state":"done"}]`, `[{"type":"tool_use","id":"1","name":"n","arguments":{},"state":"done"}]`},
		"tool result":      {`[{"type":"tool_result","tool_use_id":"1","content":{"a":1}}]`, `[{"type":"tool_result","tool_use_id":"1","content":{"a":1}}]`},
		"a list of blocks": {`[{"type":"tool_result","tool_use_id":"1","content":[1]}]`, `[{"type":"custom","kind":"tool_result","data":{"type":"tool_result","tool_use_id":"1","content":[1]}}]`},
		"unknown state":    {`[{"type":"thinking","text":"","state":"x"}]`, `[{"type":"custom","kind":"thinking","data":{"type":"thinking","text":"","state":"x"}}]`},
		"custom":           {`[{"type":"custom","kind":"k","data":null}]`, `[{"type":"custom","kind":"k","data":null}]`},
		"image":            {`[{"type":"image","data":"AAAA","mimeType":"image/png"}]`, `[{"type":"file","url":"data:image/png;base64,AAAA","mime_type":"image/png","size":3}]`},
		"audio":            {`[{"type":"audio","data":"AAAA","mimeType":"audio/wav"}]`, `[{"type":"file","url":"data:audio/wav;base64,AAAA","mime_type":"audio/wav","size":3}]`},
		"no image":         {`[{"type":"image","data":"?"}]`, `[{"type":"custom","kind":"image","data":{"type":"image","data":"?"}}]`},
		"resource":         {`[{"type":"resource","resource":{"uri":"a://b","text":"<t>"}}]`, `[{"type":"custom","kind":"resource","data":{"type":"resource","resource":{"uri":"a://b","text":"<t>"}}}]`},
		"link":             {`[{"type":"resource_link","uri":"note://kind","name":"Note"}]`, `[{"type":"file","url":"note://kind","mime_type":"application/octet-stream","name":"Note"}]`},
		"file":             {`[{"type":"file","url":"https://x/a?b=1&c=2","mime_type":"a/b","name":"n","size":7}]`, `[{"type":"file","url":"https://x/a?b=1&c=2","mime_type":"a/b","name":"n","size":7}]`},
		"file by id":       {`[{"type":"file","file_id":"f"}]`, `[{"type":"custom","kind":"file","data":{"type":"file","file_id":"f"}}]`},
		"structured":       {`[{"type":"structured","data":{"n":1}}]`, `[{"type":"custom","kind":"structured","data":{"type":"structured","data":{"n":1}}}]`},
		"two, and no type": {`[{"type":"text","text":"t"}, {"a":1}]`, `[{"type":"custom","kind":"text","data":{"type":"text","text":"t"}},{"type":"custom","kind":"unknown","data":{"a":1}}]`},
	} {
		if got := string(viewParts([]byte(c.wrote))); got != c.want {
			t.Errorf("%s: %s\nbecame %s\n, want %s", name, c.wrote, got, c.want)
		}
	}
}
