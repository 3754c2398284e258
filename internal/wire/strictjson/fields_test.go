package strictjson

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFieldsGiveNamesAndRawValues(t *testing.T) {
	tests := []struct {
		in   string
		want []string // name, raw value, ...
	}{
		{`{}`, nil},
		{`[]`, nil},
		{`"{}"`, nil},
		{`null`, nil},
		{``, nil},
		{` { "a" : 1 , "b":"x\"}" ,"c":[1,{"d":2}],"d":{"e":[]} , "f":null,"g":-1.5e3,"h":true } `, []string{
			"a", "1", "b", `"x\"}"`, "c", `[1,{"d":2}]`, "d", `{"e":[]}`, "f", "null", "g", "-1.5e3", "h", "true",
		}},
		{`{"\u0061\n\ud83d\ude00":"\\"}`, []string{"a\n😀", `"\\"`}},
		{`{"Method":1,"method ":2}`, []string{"Method", "1", "method ", "2"}},
	}
	for _, tt := range tests {
		var got []string
		for name, raw := range Fields([]byte(tt.in)) {
			got = append(got, name, string(raw))
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("Fields(%s): -want +got\n%s", tt.in, diff)
		}
	}
}

func TestFieldsStopsEarly(t *testing.T) {
	n := 0
	for range Fields([]byte(`{"a":1,"b":2}`)) {
		n++
		break
	}
	for range Elements([]byte(`[1,2]`)) {
		n++
		break
	}
	if n != 2 {
		t.Errorf("%d steps, want 2", n)
	}
}

func TestFieldMatchesItsExactName(t *testing.T) {
	obj := []byte(`{"id":7,"Name":"x","deep":{"name":"y"}}`)
	for name, want := range map[string]string{"id": "7", "Name": `"x"`, "name": "", "NAME": "", "deep": `{"name":"y"}`} {
		if got := string(Field(obj, name)); got != want {
			t.Errorf("Field(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestElementsGiveRawValues(t *testing.T) {
	tests := []struct {
		in   string
		want []string
	}{
		{`[]`, nil},
		{`{"a":1}`, nil},
		{``, nil},
		{` [ 1 , "a,]" ,[2,[3]], {"b":[4]} ,null] `, []string{"1", `"a,]"`, "[2,[3]]", `{"b":[4]}`, "null"}},
	}
	for _, tt := range tests {
		var got []string
		for raw := range Elements([]byte(tt.in)) {
			got = append(got, string(raw))
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("Elements(%s) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestStringValueDecodesStringsAlone(t *testing.T) {
	tests := []struct {
		in, want string
		ok       bool
	}{
		{`""`, "", true},
		{`"a b"`, "a b", true},
		{`"\"\\\/\b\f\n\r\t"`, "\"\\/\b\f\n\r\t", true},
		{`"x\u00e9\ud83d\ude00y"`, "xé😀y", true},
		{`1`, "", false},
		{`null`, "", false},
		{``, "", false},
		{`"`, "", false},
	}
	for _, tt := range tests {
		got, ok := StringValue([]byte(tt.in))
		if got != tt.want || ok != tt.ok {
			t.Errorf("StringValue(%s) = %q, %v; want %q, %v", tt.in, got, ok, tt.want, tt.ok)
		}
	}
	raw := []byte(`"kept"`)
	s, _ := StringValue(raw)
	if raw[1] = 'w'; s != "kept" {
		t.Error("StringValue shares its input's memory")
	}
}

func BenchmarkFields(b *testing.B) {
	obj := []byte(request)
	b.SetBytes(int64(len(obj)))
	b.ReportAllocs()
	for b.Loop() {
		for name, raw := range Fields(obj) {
			if name == "" || raw == nil {
				b.Fatal("empty")
			}
		}
	}
}
