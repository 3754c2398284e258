package blob

import (
	"mime"
	"strings"
	"testing"
)

// TestNamesInHeaders: whatever a file is called, the header is one line of
// ASCII that any reader takes apart into a name without folders.
func TestNamesInHeaders(t *testing.T) {
	for _, tt := range []struct{ name, safe, header string }{
		{"report.pdf", "report.pdf", `attachment; filename="report.pdf"`},
		{"../../etc/passwd", ".._.._etc_passwd", `attachment; filename=".._.._etc_passwd"`},
		{`..\..\boot.ini`, ".._.._boot.ini", `attachment; filename=".._.._boot.ini"`},
		{"a\x00b", "a_b", `attachment; filename="a_b"`},
		{"CON", "CON", `attachment; filename="CON"`},
		{"a\r\nSet-Cookie: x=y", "a__Set-Cookie: x=y", `attachment; filename="a__Set-Cookie: x=y"`},
		{"photo\u202egpj.exe", "photo_gpj.exe", `attachment; filename="photo_gpj.exe"`},
		{`say "hi"; x=%41`, `say "hi"; x=%41`, `attachment; filename="say _hi_; x=_41"; filename*=UTF-8''say%20%22hi%22%3B%20x%3D%2541`},
		{"Übung 1.txt", "Übung 1.txt", `attachment; filename="_bung 1.txt"; filename*=UTF-8''%C3%9Cbung%201.txt`},
		{"\xff\xfe", "_", `attachment; filename="_"`},
		{"..", "file", `attachment; filename="file"`},
		{"", "file", `attachment; filename="file"`},
		{strings.Repeat("a", 512), strings.Repeat("a", 512), `attachment; filename="` + strings.Repeat("a", 512) + `"`},
	} {
		if got := SafeName(tt.name); got != tt.safe {
			t.Errorf("%q is safe as %q, want %q", tt.name, got, tt.safe)
		}
		got := Attachment(tt.name)
		if got != tt.header {
			t.Errorf("%q:\n got %s\nwant %s", tt.name, got, tt.header)
		}
		kind, params, err := mime.ParseMediaType(got)
		if err != nil || kind != "attachment" || params["filename"] != tt.safe {
			t.Errorf("%q is read as %s %q, %v", tt.name, kind, params, err)
		}
	}
}
