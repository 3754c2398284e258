package folder

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func open(t *testing.T) *Folder {
	t.Helper()
	real := t.TempDir()
	alias := filepath.Join(t.TempDir(), "alias")
	if err := errors.Join(
		os.Symlink(real, alias), os.Mkdir(filepath.Join(real, "sub"), 0o700), os.WriteFile(filepath.Join(real, "a.txt"), []byte("a"), 0o600),
		os.Symlink(t.TempDir(), filepath.Join(real, "out")), os.Symlink("/nowhere/x", filepath.Join(real, "dangling")),
		os.Symlink("sub", filepath.Join(real, "in")), os.Symlink("loop", filepath.Join(real, "loop")),
	); err != nil {
		t.Fatal(err)
	}
	f, err := Open(alias)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f
}

func TestFind(t *testing.T) {
	f := open(t)
	for path, inside := range map[string]bool{
		"a.txt": true, ".": true, "": true, "sub/new/deep": true, "in/x": true, "a.txt/x": true, f.Path: true, f.given + "/a.txt": true,
		f.Path + "/sub/../a.txt": true, "file://" + f.Path + "/a%2Etxt": true, "..x": true,
		"..": false, "sub/../../x": false, f.Path + "/../x": false, f.Path + "x": false, "/": false, "/etc/passwd": false,
		"out": false, "out/x": false, "dangling": false, "loop": false, "~/x": false, "~": false, "a\x00b": false,
		"file:///etc/passwd": false, "file://elsewhere/x": false, "FILE:///etc/passwd": false,
	} {
		if _, err := f.Find(path); (err == nil) != inside {
			t.Errorf("%q: %v", path, err)
		}
	}
}

func TestFindOutside(t *testing.T) {
	f := open(t)
	for arguments, found := range map[string]string{
		`{"file_path":"a.txt","content":"/etc/passwd"}`:               "",
		`{"path":"/etc/passwd"}`:                                      "/etc/passwd",
		`{"changes":{"/etc/passwd":{"type":"update"}}}`:               "/etc/passwd",
		`{"files":["a.txt","../b"]}`:                                  "../b",
		`{"destination":"/etc/new"}`:                                  "/etc/new",
		`{"command":["/bin/bash","-lc","rm /etc/x"],"cwd":"sub"}`:     "",
		`{"command":"ls","workdir":"/"}`:                              "/",
		`{"url":"https://example.com/etc","path":"https://x/y"}`:      "",
		`{"pattern":"/etc/.*","path":"sub"}`:                          "",
		`{"anything":"file:///etc/hosts"}`:                            "file:///etc/hosts",
		`{"text":"// a comment","note":"/ not a path"}`:               "",
		`{"old_string":"/etc/passwd","filePath":"out/x"}`:             "out/x",
		`{"a":{"b":[{"notebook_path":"` + f.Path + `/../n.ipynb"}]}}`: f.Path + "/../n.ipynb",
		`"/etc/passwd"`: "/etc/passwd",
		``:              "",
		`{`:             "",
	} {
		err := f.FindOutside([]byte(arguments))
		var outside *Outside
		if errors.As(err, &outside) != (found != "") || found != "" && outside.Path != found {
			t.Errorf("%s: %v", arguments, err)
		}
	}
}

func TestTexts(t *testing.T) {
	f := open(t)
	if err := errors.Join(f.WriteText("n/e/w", "one\ntwo\nthree"), os.WriteFile(filepath.Join(f.Path, "big"), make([]byte, MaxText+1), 0o600), os.WriteFile(filepath.Join(f.Path, "bytes"), []byte{0xff}, 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path        string
		line, limit int
		want        string
	}{
		{"n/e/w", 1, -1, "one\ntwo\nthree"},
		{"n/e/w", 2, 1, "two\n"},
		{"n/e/w", 3, 9, "three"},
		{"n/e/w", 9, 9, ""},
		{"n/e/w", 0, 0, ""},
		{"big", 1, -1, "larger than"},
		{"bytes", 1, -1, "not a text"},
		{"sub", 1, -1, "not a plain file"},
		{"none", 1, -1, "no such file"},
		{"out/x", 1, -1, "outside"},
	} {
		text, err := f.ReadText(c.path, c.line, c.limit)
		if err != nil {
			if !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), f.Path) {
				t.Errorf("%+v: %v", c, err)
			}
		} else if text != c.want {
			t.Errorf("%+v: %q", c, text)
		}
	}
	for path, want := range map[string]string{"out/x": "outside", "dangling": "outside", "sub": "not a plain file", "a.txt/x": "not a directory"} {
		if err := f.WriteText(path, "x"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if err := f.WriteText("a.txt", strings.Repeat("x", MaxText+1)); err == nil {
		t.Error("a huge text was written")
	}
}
