package app

import (
	"github.com/beeos/beeos/internal/access/act"
)

// describeServer is what this process tells admins of itself.
func (p *parts) describeServer() act.Server {
	s := act.Server{Node: p.node, Started: p.started, Parts: p.cfg.Only, Data: p.cfg.Data, Apart: int(p.apart.servers.Load())}
	s.Free, s.Total = diskSpace(p.cfg.Data)
	for _, v := range p.cfg.Effective() {
		s.Settings = append(s.Settings, act.Setting{Name: v.Env, Value: v.Value, Origin: v.Origin})
	}
	return s
}
