// Package pagetest renders the pages of a room in tests: empty, with one row
// and with many.
package pagetest

import (
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/surface/web/page"
)

// NewServer returns one that shows the pages of a room to nobody in particular.
func NewServer(t *testing.T, templates fs.FS) *page.Server {
	t.Helper()
	s, err := page.New(page.Options{PublicURL: "http://console.example", Now: time.Now})
	if err == nil {
		err = s.AddTemplates(templates)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Repeat makes n rows.
func Repeat[T any](n int, row func(i int) T) []T {
	var list []T
	for i := range n {
		list = append(list, row(i))
	}
	return list
}

// RenderAll renders every page of a room. fixtures returns the data of each
// page with n rows in its lists; rows names what stands once per row.
func RenderAll(t *testing.T, s *page.Server, templates fs.FS, fixtures func(n int) map[string]any, rows map[string]string) {
	t.Helper()
	files, err := fs.Glob(templates, "templates/*.html")
	if err != nil || len(files) == 0 {
		t.Fatalf("no templates: %v", err)
	}
	for _, n := range []int{0, 1, 60} {
		data := fixtures(n)
		for _, file := range files {
			name := strings.TrimSuffix(path.Base(file), ".html")
			if data[name] == nil {
				t.Errorf("page %s has no fixture: add one", name)
				continue
			}
			body := render(t, s, fmt.Sprintf("/pagetest/%s/%d", name, n), name, data[name])
			if mark := rows[name]; mark != "" && strings.Count(body, mark) != n {
				t.Errorf("%s with %d rows shows %d", name, n, strings.Count(body, mark))
			}
			for _, bad := range []string{" style=", "<script>", " onclick", "javascript:", "ZgotmplZ", "<no value>"} {
				if strings.Contains(body, bad) {
					t.Errorf("%s contains %q", name, bad)
				}
			}
		}
	}
}

// render renders a page and, if it has one, the part that its stream sends.
func render(t *testing.T, s *page.Server, path, name string, data any) string {
	t.Helper()
	s.Handle("GET "+path, page.Anyone, func(r *page.Request) (page.Answer, error) {
		r.Visitor = &page.Visitor{User: beeos.User{ID: "me", Name: "Ann", Email: "ann@example.com", Admin: true}}
		return page.View{Page: name, Title: name, Room: "home", Said: "Saved.", Problem: "Wrong.", Live: "/live", Data: data}, nil
	})
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	if w.Code != http.StatusOK {
		t.Errorf("%s: %d %s", name, w.Code, w.Body)
	}
	if _, err := s.RenderPart(name, "live", data); err != nil && !strings.Contains(err.Error(), `"live" is undefined`) {
		t.Errorf("%s live: %v", name, err)
	}
	return w.Body.String()
}
