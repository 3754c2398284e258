package web

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/audit"
	"github.com/beeos/beeos/internal/surface/web/page"
	"github.com/beeos/beeos/internal/surface/web/safetext"
)

const auditLines = 200

type auditData struct {
	Rows     []auditRow
	Everyone bool // all trails, which admins may see
	Filter   auditForm
	Filtered bool
	Full     bool     // there may be more than are shown
	Actions  []string // that can be picked
	Export   string   // where the same lines are as a file
}

// auditForm is which lines the visitor wants, as they were asked for.
type auditForm struct{ Action, Who, Agent, From, To string }

type auditRow struct {
	ID, Actor, Action, Subject string
	ActorID, SubjectID         string // of what Actor and Subject name
	At                         time.Time
	Detail                     []auditDetail
}

type auditDetail struct{ Name, Value string }

func (s *Surface) showAudit(r *page.Request) (page.Answer, error) {
	d, f, err := s.readAuditFilter(r)
	if r.NoteProblem(err) { // the page says what was wrong, and shows nothing under a filter that is none
		return page.View{Page: "audit", Title: "Audit", Room: "audit", Data: d}, nil
	}
	if err != nil {
		return nil, err
	}
	rows, err := s.Trail.Find(r.Context(), f, auditLines)
	for _, row := range rows {
		d.Actions = append(d.Actions, safetext.Line(row.Action, 60))
	}
	slices.Sort(d.Actions)
	d.Actions = slices.Compact(d.Actions)
	d.Rows, d.Full = s.describeAudit(r.Context(), r.Visitor, rows), len(rows) == auditLines
	return page.View{Page: "audit", Title: "Audit", Room: "audit", Data: d}, err
}

// readAuditFilter reads which lines the visitor wants to see: their own, or
// everybody's if they may.
func (s *Surface) readAuditFilter(r *page.Request) (d auditData, f audit.Filter, err error) {
	q := r.URL.Query()
	field := func(name string) string { return strings.TrimSpace(q.Get(name)) }
	d.Everyone = r.User.Admin && q.Get("of") == "everyone"
	d.Filter = auditForm{Action: field("action"), Who: field("who"), Agent: field("agent"), From: field("from"), To: field("to")}
	d.Filtered, d.Export = d.Filter != auditForm{}, "/audit/export"
	if r.URL.RawQuery != "" {
		d.Export += "?" + q.Encode()
	}
	if f.Action = d.Filter.Action; !d.Everyone {
		f.OwnerID = r.User.ID
	}
	if f.Actor, err = s.findActor(r, d.Filter.Who); err != nil {
		return d, f, err
	}
	if f.Subject, err = s.findAuditedAgent(r, d); err != nil {
		return d, f, err
	}
	if f.Since, err = readDay(d.Filter.From); err != nil {
		return d, f, err
	}
	if f.Until, err = readDay(d.Filter.To); err == nil && !f.Until.IsZero() {
		f.Until = f.Until.AddDate(0, 0, 1) // the whole of that day
	}
	return d, f, err
}

// readDay reads a day, in UTC as the page shows times.
func readDay(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	day, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return day, beeos.Errorf(beeos.InvalidParam, "write a day as 2027-01-31")
	}
	return day, nil
}

// findActor returns how the trail names the person whom somebody asks about.
func (s *Surface) findActor(r *page.Request, who string) (string, error) {
	switch {
	case who == "" || who == "operator":
		return who, nil
	case who == "me" || who == "you":
		return "user:" + r.User.ID, nil
	}
	people := []beeos.User{r.User}
	if r.User.Admin {
		var err error
		if people, err = s.Users.ListUsers(r.Context()); err != nil {
			return "", err
		}
	}
	named := slices.DeleteFunc(slices.Clone(people), func(u beeos.User) bool { return !strings.EqualFold(who, u.Name) })
	if i := slices.IndexFunc(people, func(u beeos.User) bool { return strings.EqualFold(who, u.Email) }); i >= 0 {
		named = people[i : i+1]
	}
	switch len(named) {
	case 0:
		return "", beeos.Errorf(beeos.InvalidParam, "nobody here has that name or address; write a name, an e-mail address, “me”, or “operator” for who works on the server itself")
	case 1:
		return "user:" + named[0].ID, nil
	}
	return "", beeos.Errorf(beeos.InvalidParam, "%d people have that name; write an e-mail address", len(named))
}

// findAuditedAgent returns the id of the agent that somebody asks about. One
// that is deleted has no name any more, but its id is still in the trail.
func (s *Surface) findAuditedAgent(r *page.Request, d auditData) (string, error) {
	name := d.Filter.Agent
	if name == "" || strings.HasPrefix(name, "agent_") {
		return name, nil
	}
	found, err := s.findAgents(r.Context(), r.Visitor, name)
	if err != nil {
		return "", err
	}
	for _, a := range found {
		if strings.EqualFold(a.Name, name) || strings.EqualFold(a.Title, name) || a.Slug == name {
			return a.ID, nil
		}
	}
	return "", beeos.Errorf(beeos.InvalidParam, "you have no agent of that name; write its name or its id")
}

func (s *Surface) describeAudit(ctx context.Context, v *page.Visitor, rows []audit.Row) []auditRow {
	names := s.nameAudited(ctx, v)
	list := make([]auditRow, len(rows))
	for i, r := range rows {
		subject := r.Subject
		if r.Subject == r.OwnerID { // what was done to a person is in that person's trail
			subject = "user:" + subject
		}
		list[i] = auditRow{ID: r.ID, Actor: names(r.Actor), ActorID: safetext.Line(r.Actor, 80), Action: safetext.Line(r.Action, 60), Subject: names(subject), SubjectID: safetext.Line(r.Subject, 80), At: r.At}
		if name := cmp.Or(r.Detail["name"], r.Detail["client"]); name != "" && list[i].Subject == list[i].SubjectID {
			list[i].Subject = safetext.Line(name, 80) // of what is gone since, and of apps
		}
		if name := r.Detail["client"]; name != "" && strings.HasPrefix(r.Actor, "client:") {
			list[i].Actor = safetext.Line(name, 80)
		}
		for k, value := range r.Detail {
			if value != "" {
				list[i].Detail = append(list[i].Detail, auditDetail{safetext.Line(k, 40), names(value)})
			}
		}
		slices.SortFunc(list[i].Detail, func(a, b auditDetail) int { return cmp.Compare(a.Name, b.Name) })
	}
	return list
}

// nameAudited names what stands in the trail by its id: people, keys, and the
// agents that the visitor may know. Anything else stays as it is.
func (s *Surface) nameAudited(ctx context.Context, v *page.Visitor) func(id string) string {
	callers, keys, known := s.nameCallers(ctx, v), s.Acts.KeyNames(ctx, v.Caller()), map[string]string{}
	return func(id string) string {
		if strings.HasPrefix(id, "user:") || strings.HasPrefix(id, "key:") {
			return callers(id)
		}
		if strings.HasPrefix(id, "instance:") {
			return "the agent's program"
		}
		if name := keys[id]; name != "" {
			return "key " + safetext.Line(name, 40)
		}
		if name, ok := known[id]; ok || !strings.HasPrefix(id, "agent_") {
			return cmp.Or(name, safetext.Line(id, 120))
		}
		known[id] = safetext.Line(id, 80)
		if a, err := s.Agents.Get(ctx, id); err == nil && (a.OwnerID == v.User.ID || v.User.Admin || a.Visibility != beeos.VisiblePrivate) {
			known[id] = page.AgentTitle(a)
		}
		return known[id]
	}
}
