package project

import (
	"context"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// lookEvery is how often a folder is looked at: often enough for a person who has
// just saved a file, and too rarely to be noticed.
const lookEvery = 300 * time.Millisecond

// sourceFiles are what an agent is made of, by extension. Data is not among them: what an
// agent writes itself should not start it again.
var sourceFiles = []string{".go", ".mod", ".py", ".ts", ".mts", ".js", ".mjs"}

// notOurs are folders that tools write.
var notOurs = []string{"node_modules", "__pycache__", "vendor", "dist", "build", "venv", "beeos-data"}

// folder is what the source files looked like.
type folder map[string]fileState

type fileState struct {
	size    int64
	changed time.Time
}

// readFolder looks at the source files in a folder.
func readFolder(dir string) folder {
	seen := folder{}
	filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error { //nolint:errcheck // what cannot be read is not watched
		switch {
		case err != nil:
			return nil
		case d.IsDir() && path != dir && (strings.HasPrefix(d.Name(), ".") || slices.Contains(notOurs, d.Name())):
			return filepath.SkipDir
		case d.IsDir() || !slices.Contains(sourceFiles, filepath.Ext(path)):
			return nil
		}
		if info, err := d.Info(); err == nil {
			seen[path] = fileState{info.Size(), info.ModTime()}
		}
		return nil
	})
	return seen
}

// waitForChange closes changed once the folder is different and has come to rest:
// editors write in several steps, and tools write many files.
func waitForChange(ctx context.Context, dir string, seen folder, changed chan<- struct{}) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	last := seen
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := readFolder(dir)
		if !maps.Equal(now, seen) && maps.Equal(now, last) {
			close(changed)
			return
		}
		last = now
	}
}
