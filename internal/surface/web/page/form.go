package page

import (
	"mime"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/beeos/beeos"
)

// formMemory is how many bytes of an upload are kept in memory; the rest lies on
// the disk while it comes in.
const formMemory = 1 << 20

// readForm reads what a form sent, before any action does, and refuses what is
// not text: databases differ in whether they keep a zero byte or broken UTF-8,
// and nobody typed either. The address was checked at the edge.
func (r *Request) readForm(who Audience) error {
	if r.Method != http.MethodPost {
		return nil
	}
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")) // none: then there is no form
	var err error
	if kind == "multipart/form-data" {
		if err = r.ParseMultipartForm(formMemory); err != nil && who == FileSenders {
			return nil // the action says what became of the files
		}
	} else {
		err = r.ParseForm()
	}
	if err != nil {
		return beeos.Wrap(beeos.InvalidBody, err, "the form could not be read; open the page and send it again")
	}
	for name, values := range r.PostForm {
		if !isText(name) {
			return errNotText("the name of a field")
		}
		for _, value := range values {
			if !isText(value) {
				return errNotText("the field " + beeos.Shorten(beeos.Visible(name), 40))
			}
		}
	}
	return r.checkFileNames()
}

func (r *Request) checkFileNames() error {
	if r.MultipartForm == nil {
		return nil
	}
	for _, files := range r.MultipartForm.File {
		for _, f := range files {
			if !isText(f.Filename) || !isText(f.Header.Get("Content-Type")) {
				return errNotText("the name of a file")
			}
		}
	}
	return nil
}

func isText(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }

func errNotText(what string) error {
	return beeos.Errorf(beeos.InvalidBody, "%s has a zero byte or broken UTF-8 in it, which is not text; take it out and send the form again", what)
}
