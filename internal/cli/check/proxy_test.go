package check

import (
	"bufio"
	"bytes"
	"strings"
	"testing"
)

// TestLaterGatewayAddsToFrames: whatever their length, and leaves alone what is no
// whole text.
func TestLaterGatewayAddsToFrames(t *testing.T) {
	var in bytes.Buffer
	in.WriteString("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
	long := strings.Repeat("x", 100_000)
	for _, payload := range []string{`{"type":"hello"}`, `{"type":"a"}` + "\n" + `{"type":"b"}`, `{"type":"` + long[:300] + `"}`, `{"type":"` + long + `"}`} {
		if err := writeFrame(&in, wholeText, []byte(payload)); err != nil {
			t.Fatal(err)
		}
	}
	if err := writeFrame(&in, 0x89, []byte("{ping")); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	g := &laterGateway{}
	g.forward(&out, bufio.NewReader(&in)) //nolint:errcheck // it ends with what there is to read
	if g.added.Load() != 4 {
		t.Errorf("%d messages were changed", g.added.Load())
	}
	r := bufio.NewReader(&out)
	for line := ""; !strings.Contains(line, "HTTP/1.1 101"); {
		var err error
		if line, err = r.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	for line := ""; line != "\r\n"; {
		var err error
		if line, err = r.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	const member = `{"member_of_a_later_version":{"a":[1,null]},`
	for _, want := range []string{
		member + `"type":"hello"}` + unknownFrame, member + `"type":"a"}` + "\n" + member + `"type":"b"}` + unknownFrame,
		member + `"type":"` + long[:300] + `"}` + unknownFrame, member + `"type":"` + long + `"}` + unknownFrame, "{ping",
	} {
		if _, got, err := readFrame(r); err != nil || string(got) != want {
			t.Errorf("%.100s, %v; want %.100s", got, err, want)
		}
	}
}

func TestTailKeepsTheEnd(t *testing.T) {
	var out tail
	for range 1000 {
		out.Write([]byte("a line of thirty-two characters\n")) //nolint:errcheck // it takes everything
	}
	out.Write([]byte("the last")) //nolint:errcheck // likewise
	got := out.String()
	if len(got) > keptOutput || !strings.HasPrefix(got, "a line") || !strings.HasSuffix(got, "\nthe last") {
		t.Errorf("%d bytes, from %.20q", len(got), got)
	}
}
