// Package system is the page on which admins see what BeeOS runs on: version,
// nodes, database, bus, disk and settings.
package system

import (
	"embed"
	"fmt"
	"strings"
	"time"

	"github.com/beeos/beeos/internal/access/act"
	"github.com/beeos/beeos/internal/surface/web/page"
	"github.com/beeos/beeos/internal/surface/web/safetext"
)

//go:embed templates
var templates embed.FS

// Options is what the room stands on.
type Options struct {
	Pages *page.Server
	Acts  *act.Acts
	Now   func() time.Time
}

// Room serves the page.
type Room struct{ Options }

// Mount adds the template and routes to the console.
func Mount(opt Options) error {
	room := &Room{opt}
	room.Pages.Handle("GET /system", page.Admins, room.show)
	return room.Pages.AddTemplates(templates)
}

// data is the page.
type data struct {
	Facts    []fact
	Trouble  []string // what an admin should do something about
	Nodes    []node
	Settings []act.Setting
}

type fact struct{ Name, Text string }

// node is a server process.
type node struct {
	Name, Route string
	Seen        time.Time
	Here, Gone  bool // the one that shows this; not seen for a while
}

const (
	goneAfter = 30 * time.Second // without a sign; nodes give one every 5 s
	littleOf  = 10               // a disk with less than a tenth free is nearly full
)

func (room *Room) show(r *page.Request) (page.Answer, error) {
	s, err := room.Acts.System(r.Context(), r.Caller())
	if err != nil {
		return nil, err
	}
	return page.View{Page: "system", Title: "System", Room: "system", Data: newData(&s, room.Now())}, nil
}

func newData(s *act.System, now time.Time) data {
	parts := "all parts"
	if len(s.Server.Parts) > 0 {
		parts = strings.Join(s.Server.Parts, ", ")
	}
	d := data{Settings: s.Server.Settings, Facts: []fact{
		{"Version", s.Version},
		{"Built with", s.Go},
		{"Started", page.Ago(now, s.Server.Started)},
		{"Runs here", parts},
		{"Database", fmt.Sprintf("%s %s, %s", s.Database.Kind, safetext.Line(s.Database.Version, 40), formatBytes(uint64(s.Database.Bytes)))},
		{"Bus", s.Bus},
		{"Data folder", safetext.Line(s.Server.Data, 200)},
	}}
	if free, total := s.Server.Free, s.Server.Total; total > 0 {
		d.Facts = append(d.Facts, fact{"Disk", formatBytes(free) + " free of " + formatBytes(total)})
		if free < total/littleOf {
			d.Trouble = append(d.Trouble, "The disk of the data folder is nearly full. Make room, or set BEEOS_RETENTION so that finished work goes away.")
		}
	}
	if s.BusTrouble != "" {
		d.Trouble = append(d.Trouble, page.Sentence("the bus carries nothing now: "+s.BusTrouble))
	}
	if n := s.Server.Apart; n > 0 {
		d.Trouble = append(d.Trouble, fmt.Sprintf("Other servers use this database and do not share this one's bus: %d. Agents that are connected there are offline here. Give all of them one NATS_URL, or each a BEEOS_CLUSTER_ADDR.", n))
	}
	for _, n := range s.Nodes {
		row := node{Name: n.ID[max(0, len(n.ID)-8):], Route: safetext.Line(n.RouteURL, 80), Seen: n.SeenAt, Here: n.ID == s.Server.Node, Gone: now.Sub(n.SeenAt) > goneAfter}
		if row.Gone {
			d.Trouble = append(d.Trouble, "The server "+row.Name+" was last seen "+page.Ago(now, n.SeenAt)+", and did not say that it stops. See whether it runs.")
		}
		d.Nodes = append(d.Nodes, row)
	}
	return d
}

// formatBytes shows a size in the figures that matter.
func formatBytes(n uint64) string {
	const units = "KMGTPE"
	if n < 1<<10 {
		return fmt.Sprintf("%d B", n)
	}
	size, unit := float64(n)/1024, 0
	for size >= 1024 && unit < len(units)-1 {
		size, unit = size/1024, unit+1
	}
	if size < 10 {
		return fmt.Sprintf("%.1f %ciB", size, units[unit])
	}
	return fmt.Sprintf("%.0f %ciB", size, units[unit])
}
