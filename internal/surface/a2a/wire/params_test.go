package wire

import "testing"

// TestParamsTellTheirFirstError: a reader may take everything it needs and look
// once; what is wrong deep inside is not lost.
func TestParamsTellTheirFirstError(t *testing.T) {
	for raw, want := range map[string]string{
		`{"task_id":"a","inner":{"page_size":"5","on":"true"}}`: "",
		`null`:                           "",
		`[]`:                             "params must be an object",
		`{"taskId":"a","task_id":"b"}`:   "taskId is given twice, in two spellings",
		`{"taskId":1,"inner":[]}`:        "taskId must be a string",
		`{"inner":"x"}`:                  "inner must be an object",
		`{"inner":{"pageSize":"five"}}`:  "pageSize must be an integer",
		`{"inner":{"on":"maybe"}}`:       "on must be true or false",
		`{"inner":{"historyLength":-1}}`: "historyLength must not be negative",
	} {
		p, err := ReadParams([]byte(raw))
		if err == nil {
			p.Text("taskId")
			inner := p.Object("inner")
			inner.Number("pageSize")
			inner.Flag("on")
			inner.HistoryLength()
			err = p.Err()
		}
		got := ""
		if err != nil {
			got = FaultOf(err).message
		}
		if got != want {
			t.Errorf("%s: %q, want %q", raw, got, want)
		}
	}
}
