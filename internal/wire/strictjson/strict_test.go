package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos"
)

func TestStrictAccepts(t *testing.T) {
	for _, in := range []string{
		`{}`, `[]`, `null`, `true`, `false`, `""`, ` 1 `, "\t\r\n{}\n",
		`0`, `-0`, `-0.0e-0`, `1e400`, `9223372036854775808`, `0.1`, `1E+5`, `1e5`,
		`"é漢😀"`, `"\u00e9\ud83d\ude00"`, `"\"\\\/\b\f\n\r\t"`, "\"\u007f\u2028\"",
		`{"a":1,"b":{"a":1},"c":[{"a":1},{"a":1}]}`,
		`{"":1," ":2}`,
		`{"method":1,"ｍethod":2}`, // full width is another letter, not another case
		`{"ß":1,"ss":2}`,
		`{"ab":1,"ac":2,"bb":3}`,
		strings.Repeat("[", 100) + strings.Repeat("]", 100),
		strings.Repeat(`{"a":`, 100) + "1" + strings.Repeat("}", 100),
		object(1000, "name%d"),
		object(17, "é%d"),
	} {
		if err := Check([]byte(in)); err != nil {
			t.Errorf("Strict(%.60q) = %v", in, err)
		}
	}
}

func TestStrictRefuses(t *testing.T) {
	tests := []struct{ in, want string }{
		{``, "ends too early, at byte 0: a value is expected"},
		{` `, "ends too early, at byte 1"},
		{`{} {}`, "byte 3: something follows"},
		{`{}x`, "byte 2: something follows"},
		{"{}\x00", "byte 2: something follows"},
		{"\xef\xbb\xbf{}", "byte 0: a value is expected"}, // byte order mark
		{`{`, "a name in quotes"},
		{`{"a"`, "a colon"},
		{`{"a":`, "a value"},
		{`{"a":1`, "a comma or }"},
		{`{"a":1,}`, "byte 7: a name in quotes"},
		{`{a:1}`, "byte 1: a name in quotes"},
		{`{1:1}`, "byte 1: a name in quotes"},
		{`{"a" 1}`, "byte 5: a colon"},
		{`[1,]`, "byte 3: a value"},
		{`[1 2]`, "byte 3: a comma or ]"},
		{`[`, "a value"},
		{`]`, "a value"},
		{`'a'`, "a value"},
		{`nul`, "only true, false and null"},
		{`True`, "a value"},
		{`NaN`, "a value"},
		{`truex`, "byte 4: something follows"},
		{`01`, "byte 1: something follows"},
		{`[01]`, "byte 2: a comma or ]"},
		{`+1`, "a value"},
		{`-`, "a digit"},
		{`-a`, "a digit"},
		{`1.`, "after the point"},
		{`.5`, "a value"},
		{`1e`, "in the exponent"},
		{`1e+`, "in the exponent"},
		{`0x10`, "byte 1: something follows"},
		{`"`, "no closing quote"},
		{`"abcdefghijklmnop`, "no closing quote"},
		{`"\`, "no such escape"},
		{`"\x41"`, "no such escape"},
		{`"\u12"`, "four hexadecimal digits"},
		{`"\u12g4"`, "four hexadecimal digits"},
		{"\"a\nb\"", "byte 2: a control character"},
		{"\"abcdefgh\x00\"", "byte 9: a control character"},
		{"\"abcdefg\x1f\"", "byte 8: a control character"},
		{`"a\u0000"`, "byte 2: NUL"},
		{`{"meth\u0000od":1}`, "byte 6: NUL"},
		{`"\ud800"`, "first half of a surrogate pair"},
		{`"\ud800x"`, "first half of a surrogate pair"},
		{`"\ud800\u0041"`, "first half of a surrogate pair"},
		{`"\ud800\ud800\udc00"`, "first half of a surrogate pair"},
		{`"\udc00"`, "second half of a surrogate pair"},
		{"\"\xff\"", "invalid UTF-8 at byte 1"},
		{"\"\xc0\xaf\"", "invalid UTF-8 at byte 1"},
		{"\"ok\xed\xa0\x80\"", "invalid UTF-8 at byte 3"}, // a surrogate in UTF-8
		{"\"\xf4\x90\x80\x80\"", "invalid UTF-8"},
		{`{"a":1,"a":2}`, `byte 7: the name "a" stands twice`},
		{`{"method":1,"METHOD":2}`, `"METHOD" stands twice`},
		{`{"a":1,"\u0061":2}`, `"a" stands twice`},
		{`{"\u0061":1,"A":2}`, `"A" stands twice`},
		{`{"k":1,"` + "\u212a" + `":2}`, `stands twice`}, // the Kelvin sign folds to k
		{`{"` + "\u017f" + `ecret":1,"Secret":2}`, `stands twice`},
		{`{"É":1,"é":2}`, `stands twice`},
		{`{"":1,"":2}`, `"" stands twice`},
		{`[{"x":[{"a":1,"A":2}]}]`, `"A" stands twice`},
		{`{"a":{"b":1},"A":2}`, `"A" stands twice`},
		{strings.TrimSuffix(object(40, "name%d"), "}") + `,"NAME7":1}`, `"NAME7" stands twice`},
		{strings.TrimSuffix(object(16, "name%d"), "}") + `,"NAME0":1}`, `"NAME0" stands twice`},
		{strings.Repeat("[", 101) + strings.Repeat("]", 101), "byte 100: arrays and objects nest deeper than 100"},
		{strings.Repeat(`{"a":`, 101) + "1", "nest deeper"},
	}
	for _, tt := range tests {
		err := Check([]byte(tt.in))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Strict(%.60q) = %v, want %q", tt.in, err, tt.want)
		}
		if beeos.CodeOf(err) != beeos.InvalidJSON {
			t.Errorf("Strict(%.60q): code %s", tt.in, beeos.CodeOf(err))
		}
	}
}

// Hostile bodies must cost no more than plain ones of their size.
func TestHostileBodiesCostNoMore(t *testing.T) {
	const size = 1 << 20
	folds := `{"` + strings.Repeat("K", 30_000) + `1":1,"` + strings.Repeat("\u212a", 30_000) + `2":1}`
	inputs := map[string]string{
		"deep arrays":     strings.Repeat("[", size),
		"deep objects":    strings.Repeat(`{"a":`, size/5),
		"digits":          strings.Repeat("7", 10*size),
		"many names":      object(100_000, "n%d"),
		"many odd names":  object(50_000, `\u00e9%d`),
		"long odd names":  strings.Repeat(folds[:len(folds)/2], 1),
		"folding names":   folds,
		"backslashes":     `"` + strings.Repeat(`\\`, size/2) + `"`,
		"escaped names":   "[" + strings.TrimSuffix(strings.Repeat(object(16, strings.Repeat(`\u0061`, 50)+"%d")+",", 100), ",") + "]",
		"similar names":   object(16, strings.Repeat("a", 60_000)+"%d"),
		"unclosed string": `"` + strings.Repeat("a", size),
	}
	for name, in := range inputs {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			err := Check([]byte(in))
			if took := time.Since(start); took > 10*time.Second { // milliseconds, unless something is quadratic
				t.Errorf("took %s (err %v)", took, err)
			}
		})
	}
}

func TestStrictAllocatesNothing(t *testing.T) {
	for _, in := range []string{request, object(16, "name%d")} {
		b := []byte(in)
		if n := testing.AllocsPerRun(100, func() {
			if err := Check(b); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%.40s: %v allocations", in, n)
		}
	}
}

func object(n int, format string) string {
	var b strings.Builder
	for i := range n {
		b.WriteByte(",{"[min(1, max(0, 1-i))])
		fmt.Fprintf(&b, `"`+format+`":%d`, i, i)
	}
	return b.String() + "}"
}

const request = `{"jsonrpc":"2.0","id":17,"method":"tools/call","params":{"name":"weather","arguments":{"city":"Berlin","days":3,"units":"metric"},"_meta":{"progressToken":"abc"}}}`

// FuzzStrict holds Strict and Fields against encoding/json: what Strict
// accepts has one meaning, and it is the one encoding/json sees.
func FuzzStrict(f *testing.F) {
	for _, s := range []string{request, `{"a":[1,{"b":"\u00e9\n"}],"\u0061b":"\ud83d\ude00"}`, `[[],{}, -1.5e-3]`, `{"a":1,"A":2}`, `"\ud800"`, "\"\xff\"", `{"K":0,"k":1}`, ` `} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		before := bytes.Clone(b)
		err := Check(b)
		if !bytes.Equal(b, before) {
			t.Fatal("Strict changed its input")
		}
		for range Fields(b) { // must end and must not panic, whatever b is
		}
		for range Elements(b) {
		}
		StringValue(b)
		if err != nil {
			var e *beeos.Error
			if !errors.As(err, &e) || e.Code != beeos.InvalidJSON {
				t.Fatalf("error of another kind: %v", err)
			}
			return
		}
		if !json.Valid(b) {
			t.Fatalf("accepted what is not JSON: %q", b)
		}
		dec := json.NewDecoder(bytes.NewReader(b))
		dec.UseNumber()
		var want any
		if err := dec.Decode(&want); err != nil {
			t.Fatalf("encoding/json refuses it: %v", err)
		}
		agree(t, b, want)
	})
}

// agree compares a raw value with what encoding/json made of it.
func agree(t *testing.T, raw []byte, want any) {
	t.Helper()
	switch want := want.(type) {
	case map[string]any:
		n := 0
		for name, value := range Fields(raw) {
			w, ok := want[name]
			if !ok {
				t.Fatalf("encoding/json has no member %q in %q", name, raw)
			}
			agree(t, value, w)
			n++
		}
		if n != len(want) {
			t.Fatalf("%d members, encoding/json has %d: %q", n, len(want), raw)
		}
	case []any:
		n := 0
		for value := range Elements(raw) {
			agree(t, value, want[n])
			n++
		}
		if n != len(want) {
			t.Fatalf("%d elements, encoding/json has %d: %q", n, len(want), raw)
		}
	case string:
		if s, ok := StringValue(bytes.TrimSpace(raw)); !ok || s != want {
			t.Fatalf("string %q, encoding/json has %q", s, want)
		}
	case json.Number:
		if s := string(bytes.TrimSpace(raw)); s != want.String() {
			t.Fatalf("number %q, encoding/json has %q", s, want)
		}
	}
}

func BenchmarkStrict(b *testing.B) {
	inputs := []struct{ name, in string }{
		{"request", request},
		{"text", `{"message":"` + strings.Repeat(`Plain prose of an ordinary message, with a line break\n`, 1000) + `"}`},
		{"chinese", `{"message":"` + strings.Repeat(`漢字仮名交じり文`, 3000) + `"}`},
		{"base64", `{"data":"` + strings.Repeat("QUJDREVGR0hJSktMTU5P", 5000) + `"}`},
		{"members", object(500, "some_member_name_%d")},
		{"numbers", "[" + strings.Repeat("123.456,", 10_000) + "1]"},
		{"records", "[" + strings.Repeat(request+",\n  ", 500) + "1]"},
	}
	for _, in := range inputs {
		b.Run(in.name, func(b *testing.B) {
			body := []byte(in.in)
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if err := Check(body); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
