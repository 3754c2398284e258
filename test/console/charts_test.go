package console

import (
	"context"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/config"
	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/internal/store/calls"
	"github.com/beeos/beeos/test/apptest"
)

// labels is what the charts of a page say to somebody who does not see them.
const labels = `[...document.querySelectorAll("#activity svg.chart")].map(c => c.getAttribute("aria-label")).join("\n")`

// TestCharts: what is called shows up in the charts of Home and of its agent by itself,
// drawn so that it can be seen wide and narrow, light and dark, and said in words.
func TestCharts(t *testing.T) {
	cfg := apptest.Config(t)
	a := apptest.Start(t, cfg)
	id := a.Connect(t, agent.Options{Name: "librarian", DisplayName: "Librarian", Description: "Finds books, and says what is in them."}, func(_ context.Context, m agent.Message, r *agent.Reply) error {
		if m.Text == "fail" {
			return errors.New("the shelf is empty; ask for another book")
		}
		r.Step("read", agent.StepModel).Tokens("gpt-5-mini", 12_000, 800).End(nil)
		return r.Send("It is about bees.")
	})
	rest := client.New(a.REST, a.UserKey)
	ask := func(text string) {
		t.Helper()
		if _, err := rest.Invoke(t.Context(), id, client.InvokeRequest{Message: text}); err != nil {
			t.Fatal(err)
		}
	}
	b := open(t)
	b.Look(1280, "light")
	b.SignUp(a.Setup)
	b.Await("there is nothing to draw", `document.querySelector("#activity").innerText.includes("No call ended in the last 24 hours")`)
	b.inspectHere("home without calls")
	b.Look(1280, "light")
	eval[bool](b, "window.same = true")
	for range 12 {
		ask("what is it about?")
	}
	ask("fail")
	b.Await("the calls are drawn, without a reload", labels+`.includes("Calls that ended in the last 24 hours: 13, 1 went wrong")`)
	b.Await("the sentence says so", `document.querySelector("#health").innerText.includes("Of 13 calls in the last hour, 1 went wrong (8 %)")`)
	b.Do(chromedp.Click(`.numbers summary`), chromedp.WaitVisible(`[data-step]`))
	ask("what is it about?")
	b.Await("so is the next", labels+`.includes("14, 1 went wrong")`)
	if !eval[bool](b, `window.same && document.querySelector(".numbers").open && document.querySelector("#activity svg.chart rect.solid").namespaceURI === "http://www.w3.org/2000/svg"`) {
		t.Error("the page was loaded anew, the table has closed, or what came is no drawing")
	}
	b.inspectHere("home with an open table")
	b.Look(1280, "light")
	b.Do(chromedp.Click(`.more-charts summary`), chromedp.WaitVisible(`.more-charts svg.chart`))
	b.inspectHere("home with all charts")
	if said := eval[string](b, labels); !containsAll(said, "The share of calls that went wrong", "Tokens that answers took", "What answers cost") {
		t.Errorf("the charts of home say %s", said)
	}

	fillPast(t, cfg, id)
	b.Look(1280, "light")
	b.Do(chromedp.Navigate(a.Web + "/?range=7d"))
	b.Await("a week is drawn", labels+`.includes("in the last 7 days")`)
	if lit := eval[string](b, `document.querySelector("#activity nav [aria-current]").innerText`); lit != "7d" {
		t.Errorf("the range that is lit is %s", lit)
	}
	b.inspect(a.Web + "/")
	b.inspect(a.Web + "/?range=7d")
	page := a.Web + "/agents/" + id
	for _, span := range []string{"1h", "24h", "7d"} {
		b.inspect(page + "?range=" + span)
	}
	b.Look(1280, "light")
	b.Do(chromedp.Navigate(page), chromedp.ScrollIntoView(`.numbers`))
	if said := eval[string](b, labels); !containsAll(said, "Calls that ended in the last 24 hours", "The share of calls that went wrong", "half of them at most", "Tokens that answers took", "What answers cost") {
		t.Errorf("the charts say %s", said)
	}
	b.picture("activity")
	b.looksDrawn()
	b.NoComplaints()
}

// looksDrawn checks what no picture in words shows: letters are as large in a narrow
// chart as in a wide one, bars are there in both, and colours follow the theme.
func (b *tab) looksDrawn() {
	b.T.Helper()
	type measures struct {
		Letter, Bar, Plot float64
		Fill, Hint        string
	}
	measure := func(width int64, scheme string) measures {
		b.Look(width, scheme)
		return eval[measures](b, `(() => {
			const chart = document.querySelector("svg.chart"), bar = chart.querySelector("rect.solid");
			return {Letter: chart.querySelector("text").getBoundingClientRect().height, Bar: bar.getBoundingClientRect().width, Plot: chart.getBoundingClientRect().width,
				Fill: getComputedStyle(bar).fill, Hint: chart.querySelector(".point title").textContent};
		})()`)
	}
	wide, narrow, dark := measure(1280, "light"), measure(390, "light"), measure(1280, "dark")
	if wide.Letter != narrow.Letter || narrow.Bar < 1 || narrow.Bar >= wide.Bar || narrow.Plot < 200 || narrow.Plot > 390 {
		b.T.Errorf("wide it measures %+v, narrow %+v", wide, narrow)
	}
	if wide.Fill == dark.Fill || wide.Hint == "" {
		b.T.Errorf("light %+v, dark %+v", wide, dark)
	}
}

// fillPast writes what a server would have counted in the week before.
func fillPast(t *testing.T, cfg config.Config, agentID string) {
	t.Helper()
	db, err := store.Open(t.Context(), "sqlite:"+filepath.Join(cfg.Data, "beeos.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	draw := rand.New(rand.NewPCG(3, 5))
	now := time.Now().UTC().Truncate(time.Hour)
	var rows []calls.SeriesRow
	for hour := range 7 * 24 {
		began := now.Add(-time.Duration(hour+1) * time.Hour)
		whole := calls.SeriesRow{AgentID: agentID, Minutes: calls.Coarse, At: began.Unix() / 60, Slot: 1}
		for five := range 12 {
			row := whole
			row.Minutes, row.At, row.SeriesSum = calls.Fine, whole.At+int64(five)*calls.Fine, calls.SeriesSum{}
			busy := 12 - max(began.Hour()-14, 14-began.Hour())
			if began.Weekday() == time.Sunday || began.Hour() == 3 {
				busy = 0
			}
			for range max(0, busy+draw.IntN(5)-3) {
				outcome := calls.OK
				if draw.IntN(60) == 0 || began.Hour() == 17 && draw.IntN(3) == 0 {
					outcome = calls.Failed
				}
				took := time.Duration(200+draw.ExpFloat64()*900) * time.Millisecond
				in, out := 1000+draw.Int64N(9000), 100+draw.Int64N(900)
				row.Count(outcome, took, []calls.Usage{{UsageSum: calls.UsageSum{Input: in, Output: out, Micros: in/4 + out*2}}})
			}
			whole.Add(&row.SeriesSum)
			rows = append(rows, row)
		}
		rows = append(rows, whole)
	}
	if err := db.Calls.PutSeries(t.Context(), rows); err != nil {
		t.Fatal(err)
	}
}
