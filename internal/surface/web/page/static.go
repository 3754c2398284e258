package page

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"
)

//go:embed static
var staticFolder embed.FS

// staticFiles are what browsers may keep: the address of each contains a piece
// of its checksum, so that a new version has a new address.
type staticFiles map[string]staticFile // by name below static/

type staticFile struct {
	sum  string
	data []byte
}

func loadStatic() (staticFiles, error) {
	files := staticFiles{}
	err := fs.WalkDir(staticFolder, "static", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := staticFolder.ReadFile(p)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(data)
		files[strings.TrimPrefix(p, "static/")] = staticFile{fmt.Sprintf("%x", sum[:6]), data}
		return nil
	})
	return files, err
}

// url is where a file is served. A missing file is a mistake in a template,
// which the tests that render every page find.
func (f staticFiles) url(name string) string {
	file, ok := f[name]
	if !ok {
		panic("page: no static file " + name)
	}
	return "/static/" + file.sum + "/" + name
}

func (f staticFiles) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	sum, name, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/static/"), "/")
	file, ok := f[name]
	if !ok || file.sum != sum {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	if path.Ext(name) == ".svg" {
		w.Header().Set("Content-Type", "image/svg+xml")
	}
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(file.data))
}
