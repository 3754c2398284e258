package act

import (
	"context"
	"runtime"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/internal/store/cluster"
)

// System is what an admin wants to know of the servers and what they stand on.
type System struct {
	Version, Go string
	Server      Server
	Database    store.Size
	Nodes       []cluster.Node // and some that were there and are not, which one may look for
	Bus         string         // what kind it is
	BusTrouble  string         // why it carries nothing now; empty = it does
}

// Server is what a process knows of itself.
type Server struct {
	Node        string // its id among nodes
	Started     time.Time
	Parts       []string // what it runs of BeeOS; nil = all
	Data        string   // the folder that it keeps things in
	Free, Total uint64   // bytes of the disk that has it; both 0 = unknown
	Apart       int      // other servers that use the database and do not share the bus
	Settings    []Setting
}

// Setting is a setting as it stands. Credentials in it are masked.
type Setting struct{ Name, Value, Origin string }

// System describes the system to an admin.
func (a *Acts) System(ctx context.Context, c beeos.Caller) (s System, err error) {
	if err := a.requireAdmin(ctx, c); err != nil {
		return s, err
	}
	s.Version, s.Go = beeos.Version, runtime.Version()+" "+runtime.GOOS+"/"+runtime.GOARCH
	if a.Server != nil {
		s.Server = a.Server()
	}
	if s.Database, err = a.DB.Size(ctx); err != nil {
		return s, err
	}
	if s.Nodes, err = a.DB.Cluster.ListNodes(ctx, a.DB.Now().Add(-cluster.KeptFor)); err != nil {
		return s, err
	}
	if a.Bus != nil {
		s.Bus = a.Bus.Kind()
		if err := a.Bus.Ready(); err != nil {
			s.BusTrouble = err.Error()
		}
	}
	return s, nil
}
