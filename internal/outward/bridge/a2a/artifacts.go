package a2a

import (
	"strings"

	"github.com/beeos/beeos/internal/outward/bridge/a2a/peer"
	"github.com/beeos/beeos/internal/outward/bridge/upstream"
)

const (
	betweenTexts = "\n\n" // separates artifacts in the text of an answer
	maxArtifacts = 1000
	maxWords     = 1 << 20 // bytes of text; more is a file, here as everywhere
	partCost     = 256     // bytes that a part takes which holds nothing
)

// artifacts are what a peer has answered so far, in order.
type artifacts struct {
	all  []*artifact
	told strings.Builder // what our caller was told of the text
	torn bool            // what was told is no longer how the text begins
	size int
}

type artifact struct {
	id    string
	text  strings.Builder
	files []peer.Part // what is not text
	size  int
}

// add takes in an artifact, or a piece of one, and returns what our caller can
// be told: the text that follows what they know.
func (a *artifacts) add(art peer.Artifact, more bool) (piece string, err error) {
	at := a.find(art.ID)
	one := a.all[at]
	before := one.text.String()
	a.size -= one.size
	if !more {
		*one = artifact{id: one.id}
	}
	one.addParts(art.Parts)
	a.size += one.size
	if len(a.all) > maxArtifacts || a.size > upstream.MaxMessage || one.text.Len() > maxWords || a.told.Len() > maxWords {
		return "", peer.ErrTooLarge
	}
	rest, goesOn := strings.CutPrefix(one.text.String(), before)
	if a.torn = a.torn || !goesOn; a.torn {
		return "", nil
	}
	piece = a.nextPiece(at, before, rest)
	a.told.WriteString(piece)
	return piece, nil
}

// find returns where the artifact is, a new one if need be.
func (a *artifacts) find(id string) int {
	for i, one := range a.all {
		if one.id == id {
			return i
		}
	}
	a.all = append(a.all, &artifact{id: id})
	return len(a.all) - 1
}

// nextPiece is rest as it follows what was told. Nothing that was told may come
// after it; what begins an artifact is set apart.
func (a *artifacts) nextPiece(at int, before, rest string) string {
	if rest == "" {
		return ""
	}
	for _, later := range a.all[at+1:] {
		if later.text.Len() > 0 {
			a.torn = true
			return ""
		}
	}
	if before == "" && a.told.Len() > 0 {
		return betweenTexts + rest
	}
	return rest
}

func (one *artifact) addParts(parts []peer.Part) {
	for _, p := range parts {
		if p = p.Modern(); p.Text != nil {
			one.text.WriteString(*p.Text)
			one.size += len(*p.Text)
		} else {
			one.files = append(one.files, p)
			one.size += partCost + len(p.Raw) + len(p.Data) + len(p.URL) + len(p.Filename) + len(p.MediaType)
		}
	}
}

// text is all of it, in words.
func (a *artifacts) text() string {
	var texts []string
	for _, one := range a.all {
		if one.text.Len() > 0 {
			texts = append(texts, one.text.String())
		}
	}
	return strings.Join(texts, betweenTexts)
}

// files are what else there is.
func (a *artifacts) files() (all []peer.Part) {
	for _, one := range a.all {
		all = append(all, one.files...)
	}
	return all
}
