package budgets

import (
	"fmt"
	"testing"
	"time"

	"github.com/beeos/beeos/internal/access/act"
	budgetstore "github.com/beeos/beeos/internal/store/budgets"
	"github.com/beeos/beeos/internal/surface/web/page"
	"github.com/beeos/beeos/test/pagetest"
)

func TestPageRendersEmptyOneAndMany(t *testing.T) {
	kept := []act.BudgetState{act.BudgetOK, act.BudgetLow, act.BudgetSpent, act.BudgetLifted}
	pagetest.RenderAll(t, pagetest.NewServer(t, templates), templates, func(n int) map[string]any {
		return map[string]any{"budgets": data{Units: units, Periods: periods, Subjects: []page.Choice{{Value: "agent:a", Text: "agent <b>"}}, Rows: pagetest.Repeat(n, func(i int) row {
			return newRow(&act.BudgetStatus{
				Budget: budgetstore.Budget{ID: fmt.Sprint("b", i), Unit: budgetstore.Units()[i%3], Period: budgetstore.Day, Most: 1000, Ask: i%2 == 0},
				Spent:  int64(i * 300), State: kept[i%4], ResetsAt: time.Now(),
			}, "<b>")
		})}}
	}, map[string]string{"budgets": "data-budget="})
}

func TestAmountsAreReadable(t *testing.T) {
	for _, c := range []struct {
		unit budgetstore.Unit
		n    int64
		want string
	}{{budgetstore.Calls, 1234567, "1,234,567 calls"}, {budgetstore.Money, 2_500_000, "$2.50"}, {budgetstore.Tokens, 0, "0 tokens"}, {budgetstore.Calls, 1, "1 call"}} {
		if got := amount(c.unit, c.n); got != c.want {
			t.Errorf("%d %s is %s", c.n, c.unit, got)
		}
	}
}
