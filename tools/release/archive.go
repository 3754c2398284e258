package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// member is one file in something that is packed.
type member struct {
	name string
	mode int64
	path string // where its bytes are; empty = text
	text []byte
}

func (m *member) read() ([]byte, error) {
	if m.path == "" {
		return m.text, nil
	}
	return os.ReadFile(m.path)
}

// packAll packs the program for every target with what belongs to it.
func (r *release) packAll() error {
	for _, t := range r.targets {
		members := []member{{name: filepath.Base(r.program(t)), mode: 0o755, path: r.program(t)}}
		for _, name := range []string{"LICENSE", "README.md"} {
			members = append(members, member{name: name, mode: 0o644, path: filepath.Join(r.root, name)})
		}
		pack, suffix := r.writeZip, ".zip"
		if t.os != "windows" {
			pack, suffix = r.writeTarGz, ".tar.gz"
			for _, e := range extras {
				members = append(members, member{name: "extras/" + e.name, mode: 0o644, path: filepath.Join(r.work("extras"), e.name)})
			}
		}
		if err := pack(r.shipped(t, suffix), members); err != nil {
			return fmt.Errorf("pack %s: %w", t, err)
		}
	}
	return nil
}

func (r *release) writeTarGz(path string, members []member) error {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return err
	}
	if err := writeTar(z, r.at, members); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	return os.WriteFile(path, b.Bytes(), 0o644)
}

// writeTar writes a tar of which every byte is known: one time, one owner.
func writeTar(w io.Writer, at time.Time, members []member) error {
	out := tar.NewWriter(w)
	for _, m := range members {
		text, err := m.read()
		if err != nil {
			return err
		}
		head := &tar.Header{Name: m.name, Mode: m.mode, Size: int64(len(text)), ModTime: at, Typeflag: tar.TypeReg, Format: tar.FormatUSTAR}
		if err := out.WriteHeader(head); err != nil {
			return err
		}
		if _, err := out.Write(text); err != nil {
			return err
		}
	}
	return out.Close()
}

func (r *release) writeZip(path string, members []member) error {
	var b bytes.Buffer
	out := zip.NewWriter(&b)
	for _, m := range members {
		text, err := m.read()
		if err != nil {
			return err
		}
		head := &zip.FileHeader{Name: m.name, Method: zip.Deflate, Modified: r.at}
		head.SetMode(os.FileMode(m.mode))
		w, err := out.CreateHeader(head)
		if err == nil {
			_, err = w.Write(text)
		}
		if err != nil {
			return err
		}
	}
	return errors.Join(out.Close(), os.WriteFile(path, b.Bytes(), 0o644))
}
