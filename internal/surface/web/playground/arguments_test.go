package playground

import (
	"net/url"
	"strings"
	"testing"

	"github.com/beeos/beeos"
)

// everything has an argument of each kind.
const everything = `{"type":"object","required":["city","unit","place"],"properties":{
	"city":{"type":"string","description":"Where."},
	"days":{"type":"integer","minimum":1,"maximum":7,"default":3},
	"above":{"type":["number","null"]},
	"unit":{"enum":["c","f",4]},
	"hourly":{"anyOf":[{"type":"boolean"},{"type":"null"}]},
	"names":{"type":"array","items":{"type":"string"}},
	"counts":{"type":"array","items":{"type":"integer"}},
	"token":{"type":"string","writeOnly":true},
	"pin":{"type":"integer","x-secret":true},
	"place":{"type":"object","required":["lat"],"properties":{"lat":{"type":"number"},"deep":{"type":"object","properties":{"x":{"type":"string"}}},"pass":{"type":"string","x-secret":true}}},
	"either":{"oneOf":[{"type":"string"},{"type":"number"}]},
	"a/b~c":{"type":"string"}}}`

func TestFieldsComeFromTheSchema(t *testing.T) {
	fields, ok := fieldsOf([]byte(everything))
	if !ok {
		t.Fatal("no form")
	}
	kinds := map[string]kind{}
	var order []string
	for _, f := range fields {
		kinds[f.Name] = f.Kind
		order = append(order, f.Key)
		for _, in := range f.Fields {
			kinds[in.Name] = in.Kind
		}
	}
	want := map[string]kind{
		"/city": kindText, "/days": kindNumber, "/above": kindNumber, "/unit": kindChoice, "/hourly": kindSwitch, "/names": kindLines, "/counts": kindLines,
		"/token": kindSecret, "/pin": kindSecret, "/place": kindGroup, "/place/lat": kindNumber, "/place/deep": kindJSON, "/place/pass": kindSecret, "/either": kindJSON, "/a~1b~0c": kindText,
	}
	for name, kind := range want {
		if kinds[name] != kind {
			t.Errorf("%s is asked for as %q, not as %q", name, kinds[name], kind)
		}
	}
	if len(kinds) != len(want) || strings.Join(order, " ") != "city days above unit hourly names counts token pin place either a/b~c" {
		t.Errorf("fields %v in the order %v", kinds, order)
	}
	if f := fields[1]; f.Value != "3" || f.Min != "1" || f.Max != "7" || f.Required || !fields[0].Required || fields[0].Text != "Where." {
		t.Errorf("%+v", f)
	}
	for _, odd := range []string{`{"type":"array"}`, `{"oneOf":[{}]}`, `{"$ref":"#/x"}`, `[]`, `{"title":5}`, `{"properties":{` + strings.Repeat(`"x":{},`, 200) + `"y":{}}}`} {
		if fields, ok := fieldsOf([]byte(odd)); ok {
			t.Errorf("%.40s has the fields %v", odd, fields)
		}
	}
	deep := strings.Repeat(`{"anyOf":[{"type":"null"},`, 200) + `{"type":"string"}` + strings.Repeat(`]}`, 200)
	if fields, ok := fieldsOf([]byte(`{"properties":{"x":` + deep + `}}`)); !ok || fields[0].Kind != kindJSON { // and it comes back at all
		t.Errorf("%v %v", fields, ok)
	}
}

func TestArgumentsAreReadBack(t *testing.T) {
	full := url.Values{
		"/city": {"Bern\r\nWabern"}, "/days": {" 2 "}, "/above": {"-1.5e1"}, "/unit": {"4"}, "/hourly": {"false"}, "/names": {"a\r\n\r\nb c"}, "/counts": {"1\n2"},
		"/token": {"hush"}, "/pin": {"123"}, "/place/lat": {"46.9"}, "/place/deep": {`{"x": "y"}`}, "/either": {`"z"`}, "/a~1b~0c": {"<"},
	}
	const want = `{"city":"Bern\nWabern","days":2,"above":-1.5e1,"unit":4,"hourly":false,"names":["a","b c"],"counts":[1,2],"token":"hush","pin":123,` +
		`"place":{"lat":46.9,"deep":{"x": "y"}},"either":"z","a/b~c":"<"}`
	fields, _ := fieldsOf([]byte(everything))
	got, err := readArguments(fields, full)
	if err != nil || string(got) != want {
		t.Errorf("%s\nnot %s, %v", got, want, err)
	}
	if fields[7].Value != "" || fields[8].Value != "" || fields[0].Value != "Bern\nWabern" || !fields[3].Choices[2].Picked {
		t.Errorf("the form keeps %+v", fields)
	}

	again, _ := fieldsOf([]byte(everything))
	fillFields(again, got)
	if again[7].Value != "" || again[0].Value != "Bern\nWabern" || again[5].Value != "a\nb c" || again[9].Fields[0].Value != "46.9" || !again[4].Choices[1].Picked {
		t.Errorf("filled in again: %+v", again)
	}
	if rest := string(withoutSecrets(again, []byte(`{"token":"hush","pin":1,"city":"x","place":{"pass":"p","lat":1}}`))); rest != `{"city":"x","place":{"lat":1}}` {
		t.Errorf("without secrets: %s", rest)
	}

	if got, err := readArguments(fields, url.Values{}); err != nil || string(got) != `{"place":{}}` { // required, and empty
		t.Errorf("nothing filled in: %s, %v", got, err)
	}
	for name, bad := range map[string]string{"/days": "soon", "/above": "0x1", "/unit": `"k"`, "/hourly": "perhaps", "/counts": "1\nb", "/place/deep": "{", "/either": `{"a":1,"a":2}`} {
		if got, err := readArguments(fields, url.Values{name: {bad}}); beeos.CodeOf(err) != beeos.InvalidParam {
			t.Errorf("%s of %s: %s, %v", name, bad, got, err)
		}
	}
	for text, ok := range map[string]bool{"": true, ` {"a":1} `: true, "[]": false, "{": false, `{"a":1,"a":2}`: false} {
		if got, err := readArguments(fields, url.Values{"arguments": {text}}); (err == nil) != ok {
			t.Errorf("%q: %s, %v", text, got, err)
		}
	}
}
