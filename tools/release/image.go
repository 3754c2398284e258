package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// The image is an OCI layout in a tar: nothing but the program, the certificates
// that it trusts, and an empty folder that belongs to its user. Docker, podman and
// skopeo load it; no daemon is needed to make it.
const (
	imageUser     = 65532
	typeIndex     = "application/vnd.oci.image.index.v1+json"
	typeManifest  = "application/vnd.oci.image.manifest.v1+json"
	typeConfig    = "application/vnd.oci.image.config.v1+json"
	typeLayer     = "application/vnd.oci.image.layer.v1.tar+gzip"
	imageName     = "beeos"
	healthEvery   = 30 * time.Second
	healthTimeout = 6 * time.Second
)

type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int64             `json:"size"`
	Platform    *platform         `json:"platform,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

type platform struct {
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
}

// layout is an image that is being put together.
type layout struct{ members []member }

// add keeps some bytes under their sum.
func (l *layout) add(kind string, text []byte) descriptor {
	sum := sha256.Sum256(text)
	name := hex.EncodeToString(sum[:])
	l.members = append(l.members, member{name: "blobs/sha256/" + name, mode: 0o644, text: text})
	return descriptor{MediaType: kind, Digest: "sha256:" + name, Size: int64(len(text))}
}

func (l *layout) addJSON(kind string, v any) (descriptor, error) {
	text, err := json.Marshal(v)
	return l.add(kind, text), err
}

// makeImage writes one image for all Linux targets.
func (r *release) makeImage() error {
	var l layout
	var manifests []descriptor
	for _, t := range r.targets {
		if t.os != "linux" {
			continue
		}
		d, err := r.addPlatform(&l, t)
		if err != nil {
			return fmt.Errorf("image for %s: %w", t, err)
		}
		manifests = append(manifests, d)
	}
	index, err := l.addJSON(typeIndex, map[string]any{"schemaVersion": 2, "mediaType": typeIndex, "manifests": manifests})
	if err != nil {
		return err
	}
	index.Annotations = map[string]string{
		"org.opencontainers.image.ref.name": r.version,
		"io.containerd.image.name":          imageName + ":" + r.version,
	}
	top, err := json.Marshal(map[string]any{"schemaVersion": 2, "mediaType": typeIndex, "manifests": []descriptor{index}})
	if err != nil {
		return err
	}
	members := append([]member{
		{name: "oci-layout", mode: 0o644, text: []byte(`{"imageLayoutVersion":"1.0.0"}`)},
		{name: "index.json", mode: 0o644, text: top},
	}, l.members...)
	var b bytes.Buffer
	if err := writeTar(&b, r.at, members); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.out, fmt.Sprintf("beeos_%s_image.tar", r.version)), b.Bytes(), 0o644)
}

func (r *release) addPlatform(l *layout, t target) (descriptor, error) {
	plain, packed, err := r.makeLayer(t)
	if err != nil {
		return descriptor{}, err
	}
	diff := sha256.Sum256(plain)
	config, err := l.addJSON(typeConfig, map[string]any{
		"created": r.at.Format(time.RFC3339), "architecture": t.arch, "os": t.os,
		"config": map[string]any{
			"User":         fmt.Sprintf("%d:%d", imageUser, imageUser),
			"ExposedPorts": map[string]any{"3000/tcp": struct{}{}, "8083/tcp": struct{}{}, "8092/tcp": struct{}{}, "8094/tcp": struct{}{}, "8095/tcp": struct{}{}},
			"Env":          []string{"PATH=/usr/bin", "BEEOS_DATA=/data"},
			"Entrypoint":   []string{"/usr/bin/beeos"}, "Cmd": []string{"serve"},
			"Volumes": map[string]any{"/data": struct{}{}}, "WorkingDir": "/data",
			"Healthcheck": map[string]any{ // Docker's own; others ask the same over HTTP
				"Test": []string{"CMD", "/usr/bin/beeos", "health"}, "Interval": healthEvery, "Timeout": healthTimeout, "StartPeriod": healthEvery,
			},
			"Labels": map[string]string{
				"org.opencontainers.image.title": "BeeOS", "org.opencontainers.image.version": r.version, "org.opencontainers.image.licenses": "Apache-2.0",
			},
		},
		"rootfs":  map[string]any{"type": "layers", "diff_ids": []string{"sha256:" + hex.EncodeToString(diff[:])}},
		"history": []map[string]any{{"created": r.at.Format(time.RFC3339), "created_by": "tools/release"}},
	})
	if err != nil {
		return descriptor{}, err
	}
	layer := l.add(typeLayer, packed)
	d, err := l.addJSON(typeManifest, map[string]any{"schemaVersion": 2, "mediaType": typeManifest, "config": config, "layers": []descriptor{layer}})
	d.Platform = &platform{Architecture: t.arch, OS: t.os}
	return d, err
}

// makeLayer is the file system of the image.
func (r *release) makeLayer(t target) (plain, packed []byte, err error) {
	var b, z bytes.Buffer
	out := tar.NewWriter(&b)
	folder := func(name string, mode int64, owner int) {
		if err == nil {
			err = out.WriteHeader(&tar.Header{Name: name + "/", Mode: mode, Uid: owner, Gid: owner, ModTime: r.at, Typeflag: tar.TypeDir, Format: tar.FormatUSTAR})
		}
	}
	file := func(m member) {
		var text []byte
		if err == nil {
			text, err = m.read()
		}
		if err == nil {
			err = out.WriteHeader(&tar.Header{Name: m.name, Mode: m.mode, Size: int64(len(text)), ModTime: r.at, Typeflag: tar.TypeReg, Format: tar.FormatUSTAR})
		}
		if err == nil {
			_, err = out.Write(text)
		}
	}
	for _, name := range []string{"etc", "etc/ssl", "etc/ssl/certs", "usr", "usr/bin"} {
		folder(name, 0o755, 0)
	}
	folder("data", 0o700, imageUser)
	folder("tmp", 0o1777, 0)
	file(member{name: "etc/passwd", mode: 0o644, text: fmt.Appendf(nil, "root:x:0:0:root:/:/none\nbeeos:x:%d:%d:BeeOS:/data:/none\n", imageUser, imageUser)})
	file(member{name: "etc/group", mode: 0o644, text: fmt.Appendf(nil, "root:x:0:\nbeeos:x:%d:\n", imageUser)})
	file(member{name: "etc/hosts", mode: 0o644, text: []byte("127.0.0.1 localhost\n::1 localhost\n")})
	file(member{name: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, path: r.roots})
	file(member{name: "usr/bin/beeos", mode: 0o755, path: r.program(t)})
	if err != nil {
		return nil, nil, err
	}
	if err := out.Close(); err != nil {
		return nil, nil, err
	}
	w, err := gzip.NewWriterLevel(&z, gzip.BestCompression)
	if err != nil {
		return nil, nil, err
	}
	if _, err := w.Write(b.Bytes()); err != nil {
		return nil, nil, err
	}
	if err := w.Close(); err != nil {
		return nil, nil, err
	}
	return b.Bytes(), z.Bytes(), nil
}
