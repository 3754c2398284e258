// Package budgets is the part of the console where a person bounds what calls may
// take in a day or a month, and sees how much of that is gone.
package budgets

import (
	"cmp"
	"embed"
	"strconv"
	"strings"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/act"
	budgetstore "github.com/beeos/beeos/internal/store/budgets"
	"github.com/beeos/beeos/internal/surface/web/page"
	"github.com/beeos/beeos/internal/surface/web/safetext"
)

//go:embed templates
var templates embed.FS

// Options is what the room stands on.
type Options struct {
	Pages *page.Server
	Acts  *act.Acts
}

// Room serves the page.
type Room struct{ Options }

// Mount adds the template and routes to the console.
func Mount(opt Options) error {
	room := &Room{opt}
	room.Pages.Handle("GET /budgets", page.SignedIn, room.show)
	room.Pages.Handle("POST /budgets", page.SignedIn, page.Form(room.set, room.show))
	room.Pages.Handle("POST /budgets/{id}/delete", page.SignedIn, page.Form(room.remove, room.show))
	room.Pages.Handle("GET /budgets/{id}/{form}", page.SignedIn, page.RedirectTo("/budgets"))
	return room.Pages.AddTemplates(templates)
}

// data is the page.
type data struct {
	Rows     []row
	Subjects []page.Choice
	Units    []page.Choice
	Periods  []page.Choice
}

// row is one budget.
type row struct {
	ID, For, Kind, Limit, Spent string
	Percent                     int64 // of the limit, at most 100
	State, Mood                 string
	WhenSpent                   string
	Resets                      time.Time
}

var (
	units   = []page.Choice{{Value: string(budgetstore.Calls), Text: "calls"}, {Value: string(budgetstore.Tokens), Text: "tokens"}, {Value: string(budgetstore.Money), Text: "US dollars"}}
	periods = []page.Choice{{Value: string(budgetstore.Day), Text: "a day"}, {Value: string(budgetstore.Month), Text: "a month"}}
)

// states say how a budget stands.
var states = map[act.BudgetState]struct{ words, mood string }{
	act.BudgetOK:     {"within it", "good"},
	act.BudgetLow:    {"nearly used up", "busy"},
	act.BudgetSpent:  {"used up", "bad"},
	act.BudgetLifted: {"used up, calls go on", "busy"},
}

func (room *Room) show(r *page.Request) (page.Answer, error) {
	list, err := room.Acts.Budgets(r.Context(), r.Caller())
	if err != nil {
		return nil, err
	}
	subjects, err := room.Acts.BudgetSubjects(r.Context(), r.Caller())
	if err != nil {
		return nil, err
	}
	d, names := data{Units: units, Periods: periods}, map[budgetstore.Subject]string{}
	for _, s := range subjects {
		names[s.Subject] = safetext.Line(s.Name, 60)
		d.Subjects = append(d.Subjects, page.Choice{Value: string(s.Kind) + ":" + s.ID, Text: string(s.Kind) + " " + names[s.Subject]})
	}
	for i := range list {
		d.Rows = append(d.Rows, newRow(&list[i], names[list[i].Subject]))
	}
	return page.View{Page: "budgets", Title: "Budgets", Room: "usage", Here: "/budgets", Data: d}, nil
}

func newRow(b *act.BudgetStatus, name string) row {
	said := states[b.State]
	r := row{
		ID: b.ID, Kind: string(b.Kind), For: cmp.Or(name, safetext.Line(b.Subject.ID, 60)), Limit: amount(b.Unit, b.Most) + " a " + string(b.Period),
		Spent: amount(b.Unit, b.Spent), Percent: min(100, b.Spent*100/b.Most), State: said.words, Mood: said.mood, WhenSpent: "calls are refused", Resets: b.ResetsAt,
	}
	if b.Ask {
		r.WhenSpent = "you are asked"
	}
	return r
}

// amount is an amount as people read it.
func amount(u budgetstore.Unit, n int64) string {
	if u == budgetstore.Money {
		return page.FormatMoney(n)
	}
	return page.Thousands(n) + " " + u.Noun(n)
}

// set sets the budget that the form describes.
func (room *Room) set(r *page.Request) (page.Answer, error) {
	kind, id, _ := strings.Cut(r.FormValue("subject"), ":")
	b := budgetstore.Budget{Subject: budgetstore.Subject{Kind: budgetstore.Kind(kind), ID: id}, Ask: r.FormValue("ask") != ""}
	var err error
	if b.Unit, err = budgetstore.Parse("the unit", r.FormValue("unit"), budgetstore.Units()); err != nil {
		return nil, err
	}
	if b.Period, err = budgetstore.Parse("the period", r.FormValue("period"), budgetstore.Periods()); err != nil {
		return nil, err
	}
	limit, err := strconv.ParseFloat(strings.TrimSpace(r.FormValue("limit")), 64)
	if err != nil {
		return nil, beeos.Errorf(beeos.InvalidParam, "the limit must be a number, such as 1000, or 2.50 for US dollars")
	}
	if b.Most, err = b.Unit.Amount(limit); err != nil {
		return nil, err
	}
	if b.WarnAt, err = strconv.ParseInt(cmp.Or(strings.TrimSpace(r.FormValue("warn")), "0"), 10, 64); err != nil {
		return nil, beeos.Errorf(beeos.InvalidParam, "the share for a warning is a whole number of percent; 0 is never")
	}
	_, err = room.Acts.SetBudget(r.Context(), r.Caller(), b)
	return page.Redirect("/budgets", "budget-set"), err
}

func (room *Room) remove(r *page.Request) (page.Answer, error) {
	return page.Redirect("/budgets", "budget-gone"), room.Acts.DeleteBudget(r.Context(), r.Caller(), r.PathValue("id"))
}
