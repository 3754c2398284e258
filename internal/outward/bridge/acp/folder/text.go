package folder

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// MaxText bounds a text that is read or written, in bytes.
const MaxText = 4 << 20

// ReadText reads a text, or limit lines of it from a line on; the first is 1.
// limit < 0 = all of them.
func (f *Folder) ReadText(path string, line, limit int) (string, error) {
	within, err := f.Find(path)
	if err != nil {
		return "", err
	}
	if err := f.wantText(within); err != nil {
		return "", err
	}
	file, err := f.root.Open(within)
	if err != nil {
		return "", publicError(err)
	}
	defer file.Close()
	text, err := readLines(file, max(line, 1), limit)
	if err != nil {
		return "", err
	}
	if !utf8.ValidString(text) {
		return "", errors.New("the file is not a text in UTF-8")
	}
	return text, nil
}

// readLines reads lines, no more bytes of them than a text may have.
func readLines(file io.Reader, from, limit int) (string, error) {
	var text strings.Builder
	lines := bufio.NewReader(file)
	for n := 1; limit < 0 || n < from+limit; {
		piece, err := lines.ReadSlice('\n') // of a long line: as much as there is room for
		if n >= from {
			text.Write(piece)
		}
		switch {
		case text.Len() > MaxText:
			return "", fmt.Errorf("the text is larger than %d bytes; read a part of it with line and limit", MaxText)
		case err == nil:
			n++
		case errors.Is(err, io.EOF):
			return text.String(), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return "", publicError(err)
		}
	}
	return text.String(), nil
}

// WriteText writes a text, and the folders above it that are missing.
func (f *Folder) WriteText(path, text string) error {
	if len(text) > MaxText {
		return fmt.Errorf("the text is larger than %d bytes; write it in parts, to several files", MaxText)
	}
	within, err := f.Find(path)
	if err != nil {
		return err
	}
	if err := f.wantText(within); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := f.root.MkdirAll(filepath.Dir(within), 0o755); err != nil {
		return publicError(err)
	}
	return publicError(f.root.WriteFile(within, []byte(text), 0o644))
}

// wantText refuses what is no plain file: reading a pipe would never end.
func (f *Folder) wantText(within string) error {
	info, err := f.root.Stat(within)
	switch {
	case err != nil:
		return publicError(err)
	case !info.Mode().IsRegular():
		return errors.New("it is not a plain file")
	}
	return nil
}

// publicError leaves out what the agent knows: the path.
func publicError(err error) error {
	if pe, ok := errors.AsType[*os.PathError](err); ok {
		return pe.Err
	}
	return err
}
