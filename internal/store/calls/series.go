package calls

import (
	"context"
	"fmt"
	"math/bits"
	"strings"
	"time"

	"github.com/beeos/beeos/internal/store/database"
)

// TookClasses is how many classes of durations are told apart.
const TookClasses = 20

// TookClass is the class of a call that took so long: 0 below a millisecond, and each
// one twice as long as the one before it. The last has all from 4 minutes 22 seconds on.
func TookClass(took time.Duration) int {
	return min(bits.Len64(uint64(max(0, took.Milliseconds()))), TookClasses-1)
}

// LongestTook is where the last class begins: of calls that took longer, that is all
// that is known.
const LongestTook = time.Millisecond << (TookClasses - 2)

// tookFrom is the shortest duration of a class.
func tookFrom(class int) time.Duration {
	if class == 0 {
		return 0
	}
	return time.Millisecond << (class - 1)
}

// SeriesSum is calls that ended within some time, added up.
type SeriesSum struct {
	Calls    int64
	Problems int64 // calls that went wrong: Outcome.IsProblem
	Input    int64 // tokens
	Output   int64
	Micros   int64              // millionths of a US dollar
	Unpriced int64              // tokens that are not in Micros
	Took     [TookClasses]int64 // calls by TookClass
}

// Count adds a call.
func (s *SeriesSum) Count(o Outcome, took time.Duration, usage []Usage) {
	s.Calls++
	if o.IsProblem() {
		s.Problems++
	}
	s.Took[TookClass(took)]++
	for i := range usage {
		u := &usage[i]
		s.Input += u.Input
		s.Output += u.Output
		s.Micros += u.Micros
		s.Unpriced += u.Unpriced
	}
}

// Add adds another sum.
func (s *SeriesSum) Add(other *SeriesSum) {
	s.Calls += other.Calls
	s.Problems += other.Problems
	s.Input += other.Input
	s.Output += other.Output
	s.Micros += other.Micros
	s.Unpriced += other.Unpriced
	for i, n := range other.Took {
		s.Took[i] += n
	}
}

// Percentile is how long that share of the calls took at most, as well as the classes
// tell: calls of one class count as spread evenly over it. ok is false without calls.
func (s *SeriesSum) Percentile(share float64) (took time.Duration, ok bool) {
	all := int64(0)
	for _, n := range s.Took {
		all += n
	}
	before, rank := 0.0, share*float64(all)
	for class, n := range s.Took {
		if n == 0 || before+float64(n) < rank {
			before += float64(n)
			continue
		}
		from := tookFrom(class)
		if class == TookClasses-1 {
			return from, true // it has no end
		}
		within := (rank - before) / float64(n)
		return from + time.Duration(within*float64(tookFrom(class+1)-from)), true
	}
	return 0, false
}

// SeriesRow is what one process has counted for one agent in a stretch of time.
type SeriesRow struct {
	AgentID string
	Minutes int64 // how long the stretch is: Fine or Coarse
	At      int64 // when it begins, in minutes since 1970
	Slot    int64 // drawn by the process whose row it is
	SeriesSum
}

// The stretches of time by which calls are added up, in minutes.
const (
	Fine   = 5
	Coarse = 60
)

const sumColumns = "calls, problems, input, output, micros, unpriced, t0, t1, t2, t3, t4, t5, t6, t7, t8, t9, t10, t11, t12, t13, t14, t15, t16, t17, t18, t19"

func sumFields(s *SeriesSum) []any {
	fields := []any{&s.Calls, &s.Problems, &s.Input, &s.Output, &s.Micros, &s.Unpriced}
	for i := range s.Took {
		fields = append(fields, &s.Took[i])
	}
	return fields
}

// putSeries has a row take the place of what its process wrote before.
var putSeries = func() string {
	var set []string
	for column := range strings.SplitSeq(sumColumns, ", ") {
		set = append(set, column+" = excluded."+column)
	}
	return " ON CONFLICT (agent_id, minutes, at, slot) DO UPDATE SET " + strings.Join(set, ", ")
}()

// PutSeries writes rows, in several transactions when they are many: writers of calls
// wait for each of them. After an error some may be written; to write them again, as
// they are then, does no harm.
func (t *Table) PutSeries(ctx context.Context, list []SeriesRow) error {
	rows := make([][]any, len(list))
	for i := range list {
		r := &list[i]
		rows[i] = append([]any{r.AgentID, r.Minutes, r.At, r.Slot}, sumFields(&r.SeriesSum)...)
	}
	if err := database.InsertRows(ctx, t.db, "series", "agent_id, minutes, at, slot, "+sumColumns, rows, putSeries); err != nil {
		return fmt.Errorf("write series: %w", err)
	}
	return nil
}

// SeriesFilter picks a time, in steps.
type SeriesFilter struct {
	AgentIDs []string      // of these agents
	Since    time.Time     // a multiple of Step
	Step     time.Duration // a multiple of Fine
	Points   int           // how many steps
}

// SumSeries adds up what ended in each step of a time, of all agents together.
func (t *Table) SumSeries(ctx context.Context, f SeriesFilter) ([]SeriesSum, error) {
	sums := make([]SeriesSum, f.Points)
	if len(f.AgentIDs) == 0 {
		return sums, nil
	}
	step, from, minutes := int64(f.Step/time.Minute), f.Since.Unix()/60, int64(Fine)
	if step%Coarse == 0 {
		minutes = Coarse // which are fewer
	}
	var where database.Conditions
	where.AddList("agent_id", database.Args(f.AgentIDs))
	where.Add("minutes = ?", minutes)
	where.Add("at >= ?", from)
	where.Add("at < ?", from+step*int64(f.Points))
	type point struct {
		n int64
		SeriesSum
	}
	points, err := database.List(ctx, t.db, "sum series", func(p *point) []any { return append([]any{&p.n}, sumFields(&p.SeriesSum)...) },
		fmt.Sprintf(`SELECT (at - %d) / %d, %s FROM series%s GROUP BY 1`, from, step, sumsOfColumns, where.SQL()), where.Args...)
	for i := range points {
		sums[points[i].n] = points[i].SeriesSum
	}
	return sums, err
}

// sumsOfColumns adds up what fields of SeriesSum take.
var sumsOfColumns = func() string {
	var sums []string
	for column := range strings.SplitSeq(sumColumns, ", ") {
		sums = append(sums, "CAST(SUM("+column+") AS BIGINT)")
	}
	return strings.Join(sums, ", ")
}()

// ForgetSeries forgets the oldest stretch of time that is so many minutes long, if it
// began before; false when there is none.
func (t *Table) ForgetSeries(ctx context.Context, minutes int64, before time.Time) (bool, error) {
	return database.Change(ctx, t.db, "forget series", `DELETE FROM series WHERE minutes = $1 AND at < $2 AND at = (SELECT MIN(at) FROM series WHERE minutes = $1)`, minutes, before.Unix()/60)
}
