package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// newRelease is a release whose programs are small.
func newRelease(t *testing.T) *release {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	r := &release{root: root, out: t.TempDir(), version: "1.2.3", at: time.Unix(1_700_000_000, 0).UTC(), targets: allTargets, base: "https://example.com", roots: filepath.Join(t.TempDir(), "roots")}
	files := map[string][]byte{r.roots: []byte("certificates")}
	for _, target := range allTargets {
		files[r.program(target)] = []byte("the program for " + target.String())
	}
	for _, e := range extras {
		files[filepath.Join(r.work("extras"), e.name)] = []byte(e.name)
	}
	for path, text := range files {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, text, 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// makeAll makes what needs neither compiler nor packager.
func (r *release) makeAll(t *testing.T) {
	t.Helper()
	if err := errors.Join(r.packAll(), r.makeImage(), r.writeFormula(), r.copyInstaller(), r.writeSums()); err != nil {
		t.Fatal(err)
	}
}

func TestSameSourceGivesSameBytes(t *testing.T) {
	a, b := newRelease(t), newRelease(t)
	a.makeAll(t)
	b.makeAll(t)
	names := map[string]bool{}
	for _, r := range []*release{a, b} {
		list, err := os.ReadDir(r.out)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			names[e.Name()] = !e.IsDir()
		}
	}
	if len(names) < len(allTargets)+3 {
		t.Errorf("only %v", names)
	}
	for name, file := range names {
		x, errX := os.ReadFile(filepath.Join(a.out, name))
		y, errY := os.ReadFile(filepath.Join(b.out, name))
		if file && (errX != nil || errY != nil || !bytes.Equal(x, y)) {
			t.Errorf("%s differs: %v %v", name, errX, errY)
		}
	}
}

func TestArchivesHoldTheProgram(t *testing.T) {
	r := newRelease(t)
	r.makeAll(t)
	got := untar(t, r.shipped(target{"linux", "arm64"}, ".tar.gz"))
	for _, name := range []string{"beeos", "LICENSE", "README.md", "extras/beeos.1", "extras/_beeos"} {
		if got[name] == nil {
			t.Errorf("the archive has no %s", name)
		}
	}
	if got["beeos"].Mode != 0o755 || !got["beeos"].ModTime.Equal(r.at) {
		t.Errorf("%+v", got["beeos"])
	}
	z, err := zip.OpenReader(r.shipped(target{"windows", "amd64"}, ".zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	if _, err := fs.Stat(z, "beeos.exe"); err != nil {
		t.Error(err)
	}
}

// untar reads the heads of a tar.gz, and whether it is whole.
func untar(t *testing.T, path string) map[string]*tar.Header {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	return readTar(t, z, nil)
}

func readTar(t *testing.T, r io.Reader, texts map[string][]byte) map[string]*tar.Header {
	t.Helper()
	heads := map[string]*tar.Header{}
	for in := tar.NewReader(r); ; {
		head, err := in.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		heads[head.Name] = head
		if texts != nil {
			texts[head.Name] = text
		}
	}
	if _, err := io.Copy(io.Discard, r); err != nil {
		t.Fatal(err)
	}
	return heads
}

// TestImageIsWhole goes from the index to the layers and compares every sum.
func TestImageIsWhole(t *testing.T) {
	r := newRelease(t)
	r.makeAll(t)
	raw, err := os.ReadFile(filepath.Join(r.out, "beeos_1.2.3_image.tar"))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	readTar(t, bytes.NewReader(raw), files)
	read := func(d descriptor, v any) []byte {
		t.Helper()
		text := files["blobs/"+strings.Replace(d.Digest, ":", "/", 1)]
		sum := sha256.Sum256(text)
		if int64(len(text)) != d.Size || d.Digest != "sha256:"+hex.EncodeToString(sum[:]) {
			t.Fatalf("%+v is not what is there", d)
		}
		if v != nil {
			if err := json.Unmarshal(text, v); err != nil {
				t.Fatal(err)
			}
		}
		return text
	}
	type manifests struct{ Manifests []descriptor }
	var top, index manifests
	if err := json.Unmarshal(files["index.json"], &top); err != nil || len(top.Manifests) != 1 {
		t.Fatal(top, err)
	}
	read(top.Manifests[0], &index)
	if len(index.Manifests) != 2 {
		t.Fatalf("%+v", index)
	}
	for _, m := range index.Manifests {
		var manifest struct {
			Config descriptor
			Layers []descriptor
		}
		read(m, &manifest)
		var config struct {
			Architecture string
			Config       struct {
				User       string
				Entrypoint []string
			}
			RootFS struct {
				DiffIDs []string `json:"diff_ids"`
			} `json:"rootfs"`
		}
		read(manifest.Config, &config)
		if config.Architecture != m.Platform.Architecture || config.Config.User != "65532:65532" || config.Config.Entrypoint[0] != "/usr/bin/beeos" {
			t.Errorf("%+v", config)
		}
		z, err := gzip.NewReader(bytes.NewReader(read(manifest.Layers[0], nil)))
		if err != nil {
			t.Fatal(err)
		}
		plain, err := io.ReadAll(z)
		sum := sha256.Sum256(plain)
		if err != nil || config.RootFS.DiffIDs[0] != "sha256:"+hex.EncodeToString(sum[:]) {
			t.Errorf("the layer is another one: %v", err)
		}
		heads := readTar(t, bytes.NewReader(plain), nil)
		if heads["data/"] == nil || heads["data/"].Uid != imageUser || heads["usr/bin/beeos"].Mode != 0o755 || heads["etc/ssl/certs/ca-certificates.crt"] == nil {
			t.Errorf("%v", heads)
		}
	}
}

func TestSumsAndFormulaAgree(t *testing.T) {
	r := newRelease(t)
	r.makeAll(t)
	sums, err1 := os.ReadFile(filepath.Join(r.out, "checksums.txt"))
	formula, err2 := os.ReadFile(filepath.Join(r.out, "beeos.rb"))
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(sums), "  install.sh\n") {
		t.Errorf("the installer has no sum:\n%s", sums)
	}
	used := 0
	for line := range strings.Lines(string(sums)) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		if got, err := sumOf(filepath.Join(r.out, name)); err != nil || got != sum {
			t.Errorf("%s: %v", name, err)
		}
		if strings.Contains(string(formula), sum) {
			used++
			if !strings.Contains(string(formula), "https://example.com/v1.2.3/"+name) {
				t.Errorf("the formula has the sum of %s under another name", name)
			}
		}
	}
	if used != 4 {
		t.Errorf("the formula has %d of four files:\n%s", used, formula)
	}
}

// TestBillNamesModules: the program is a copy of this test, which was built as it
// is and says so.
func TestBillNamesModules(t *testing.T) {
	r := newRelease(t)
	r.targets = []target{{"linux", "amd64"}}
	self, err := os.ReadFile(os.Args[0])
	if err == nil {
		err = os.WriteFile(r.program(r.targets[0]), self, 0o755)
	}
	if err = errors.Join(err, r.describeAll()); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(r.shipped(target{"linux", "amd64"}, ".sbom.json"))
	if err != nil {
		t.Fatal(err)
	}
	var b bom
	if err := json.Unmarshal(text, &b); err != nil || b.Format != "CycloneDX" || b.Metadata.Component.Version != "1.2.3" || len(b.Components) == 0 {
		t.Errorf("%+v, %v", b, err)
	}
}

func TestVersionsAreChecked(t *testing.T) {
	for _, version := range []string{"v1.0.0", "1 0", "1_0", "a/b"} {
		if err := (&release{root: "../.."}).choose(version, ""); err == nil {
			t.Errorf("%q passes as a version", version)
		}
	}
	if err := (&release{root: "../.."}).choose("1.0.0", "plan9/mips"); err == nil {
		t.Error("an unknown target passes")
	}
}

// TestSlimmed: what is compiled instead has every method written out that may be
// looked up, and looks for no other.
func TestSlimmed(t *testing.T) {
	r := newRelease(t)
	if err := r.slim(); err != nil {
		t.Fatal(err)
	}
	for name, words := range map[string][]string{
		"template/exec.go":  {"methodNamed(ptr, fieldName)", `case "OperationID":`},
		"kong/callbacks.go": {`case "Run":`, `case "AfterApply":`, `case "ProvideClient":`},
		"kong/context.go":   {`range []string{"Provide`},
		"go.mod":            {"replace " + kong + " => "},
	} {
		text, err := os.ReadFile(r.work("slim", name))
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range words {
			if !bytes.Contains(text, []byte(w)) {
				t.Errorf("%s has no %q", name, w)
			}
		}
		if open := openLookUp.Find(text); open != nil {
			t.Errorf("%s looks up what the linker cannot see: %s", name, open)
		}
	}
	if _, err := apply("there.go", []byte("else"), []edit{{"before", "after", 1}}); err == nil || !strings.Contains(err.Error(), "there.go") {
		t.Errorf("a source that has changed: %v", err)
	}
}

var openLookUp = regexp.MustCompile(`\.(Method\(i\)|MethodByName\([a-z]\w*\))`)

func TestLargeProgramIsRefused(t *testing.T) {
	r := newRelease(t)
	if err := r.weigh(allTargets[0]); err != nil {
		t.Error(err)
	}
	if err := os.Truncate(r.program(allTargets[0]), largest); err != nil {
		t.Fatal(err)
	}
	if err := r.weigh(allTargets[0]); err == nil {
		t.Error("one byte too many passes")
	}
}
