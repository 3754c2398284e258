package catalog

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/surface/mcp/wire"
)

// The skills extension: a folder of an agent's static resources with a
// SKILL.md in it is a skill, listed with the digests of its files. Nothing is
// declared twice: the resources are the skill.

const (
	skillsExtension = wire.MetaPrefix + "skills"
	skillFile       = "/SKILL.md"
	directoryType   = "inode/directory"
)

// Skills is what the extension's methods answer with.
type Skills struct {
	List        List
	ByFile      map[string][]byte // SKILL.md -> its skill as lists show it
	Directories map[string]List   // folder -> the result of reading it
}

// addSkills finds the skills among the resources.
func (l *Lists) addSkills(a *beeos.Agent) {
	resources := a.Definition.Resources
	l.Skills = Skills{ByFile: map[string][]byte{}, Directories: map[string]List{}}
	var items [][]byte
	for i := range resources {
		root, ok := strings.CutSuffix(resources[i].URI, skillFile)
		if !ok || l.Skills.ByFile[resources[i].URI] != nil {
			continue
		}
		skill := describeSkill(root, &resources[i], resources)
		if skill == nil {
			continue
		}
		l.Skills.ByFile[resources[i].URI] = skill
		items = append(items, skill)
		l.Skills.addDirectories(root, resources)
	}
	l.Skills.List = newList("skills", items)
}

// describeSkill describes the skill below root; nil for a SKILL.md that makes
// none.
func describeSkill(root string, file *beeos.Resource, resources []beeos.Resource) []byte {
	if file.Text == nil {
		return nil
	}
	front, name, ok := readFrontMatter(*file.Text)
	if !ok || name != root[strings.LastIndexByte(root, '/')+1:] {
		return nil
	}
	return fmt.Appendf(nil, `{"uri":%s,"frontmatter":%s,"resources":%s}`, wire.EncodeText(file.URI), front, manifest(root, resources))
}

// manifest lists the files below root. One that the agent answers itself can
// have no digest, and so the skill none of them.
func manifest(root string, resources []beeos.Resource) []byte {
	var files [][]byte
	seen := map[string]bool{}
	for i := range resources {
		r := &resources[i]
		if !strings.HasPrefix(r.URI, root+"/") || seen[r.URI] {
			continue
		}
		seen[r.URI] = true
		content, ok := contentOfFile(r)
		if !ok {
			return []byte(`"dynamic"`)
		}
		files = append(files, fmt.Appendf(nil, `{"uri":%s,"digest":"sha256:%x","size":%d}`, wire.EncodeText(r.URI), sha256.Sum256(content), len(content)))
	}
	return fmt.Appendf(nil, `[%s]`, bytes.Join(files, []byte{','}))
}

func contentOfFile(r *beeos.Resource) ([]byte, bool) {
	switch {
	case r.Text != nil:
		return []byte(*r.Text), true
	case r.Blob != nil:
		b, err := base64.StdEncoding.DecodeString(*r.Blob)
		return b, err == nil
	}
	return nil, false
}

// addDirectories makes root and every folder below it readable.
func (s *Skills) addDirectories(root string, resources []beeos.Resource) {
	children := map[string][][]byte{root: nil}
	seen := map[string]bool{}
	add := func(uri string, shown []byte) {
		if parent := uri[:strings.LastIndexByte(uri, '/')]; !seen[uri] {
			seen[uri] = true
			children[parent] = append(children[parent], shown)
		}
	}
	for i := range resources {
		r := &resources[i]
		shown, err := resourceDefinition(r)
		if err != nil || !strings.HasPrefix(r.URI, root+"/") {
			continue
		}
		add(r.URI, shown)
		for dir := r.URI[:strings.LastIndexByte(r.URI, '/')]; dir != root; dir = dir[:strings.LastIndexByte(dir, '/')] {
			b := wire.AppendText([]byte(`{"uri":`), dir)
			b = wire.AppendMember(b, "name", dir[strings.LastIndexByte(dir, '/')+1:])
			add(dir, append(b, `,"mimeType":"`+directoryType+`"}`...))
		}
	}
	for dir, list := range children {
		s.Directories[dir] = newList("resources", list)
	}
}
