package card

import "testing"

// TestSignedFormIsCanonical: a client in any language has to arrive at the same
// bytes, whatever an agent writes into its description.
func TestSignedFormIsCanonical(t *testing.T) {
	given := `{"b": [1, true, null, -20], "a": "<b>&\u00e9\u20ac\ud83d\ude00 \u2028\u2029 \\\\u2028 \\\\\u2029 \" \/ \b\f\n\r\t\u000f\u007f", "A": {}}`
	want := "{\"A\":{},\"a\":\"<b>&é€😀 \u2028\u2029 \\\\\\\\u2028 \\\\\\\\\u2029 \\\" / \\b\\f\\n\\r\\t\\u000f\x7f\",\"b\":[1,true,null,-20]}"
	got, err := canonical([]byte(given))
	if err != nil || got != want {
		t.Errorf("got  %s\nwant %s (%v)", got, want, err)
	}
}
