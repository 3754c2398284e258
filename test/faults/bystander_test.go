package faults

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/beeos/beeos/client"
)

// strictVar is set by make hostile, for a machine that has nothing else to do:
// how long the calls of others take is then more than a figure in the log.
const strictVar = "FAULTS_STRICT"

var strict = os.Getenv(strictVar) != ""

const (
	paceEvery = 20 * time.Millisecond // between two calls of a bystander
	calmFor   = 4 * time.Second       // and as long at least under each attack, where it counts
	maxGrowth = 64 << 20              // of a process under attack, in bytes
	tries     = 3                     // at a figure that any other program may spoil
)

// aside lets a test run beside the others, unless they would be in its figures.
func aside(t *testing.T) {
	t.Helper()
	if !strict {
		t.Parallel()
	}
}

// bystander is another tenant, whose calls have nothing to do with an attack. It
// calls from a process of its own, so that what it sees is not the attacker's
// garbage collector.
type bystander struct {
	*process
	calm    figures
	watched []*process // must not grow

	measured int
}

// figures are how long calls took.
type figures struct {
	Calls    int
	P50, P99 time.Duration
	Problem  string // the first one
}

// bystanderSpec is what its process is told.
type bystanderSpec struct {
	REST, Agent, Key string
	First            int // calls that warm up
}

// newBystander has an agent of its own connect to a node that runs; key is that
// of its user.
func newBystander(t testing.TB, n *node, key string, others ...*process) *bystander {
	t.Helper()
	a := startAgent(t, "the bystander's agent", spec{Name: "bystander", Gateway: n.agents, Key: key, Identity: t.TempDir() + "/id.json"})
	told, err := json.Marshal(bystanderSpec{n.rest, a.id, key, much(2000, 100)})
	if err != nil {
		t.Fatal(err)
	}
	b := &bystander{process: start(t, "the bystander", os.Args[0], []string{roleVar + "=bystander", specVar + "=" + string(told)}), watched: append(others, n.proc)}
	b.expect(b.Out, "warm up", func(line string) bool { return line == "ready" })
	if strict {
		keepApart(t, []*process{n.proc, a.process, b.process}, others)
	} else {
		b.calm = b.measure(t, func() { pause(t.Context(), time.Second) })
	}
	return b
}

// runBystander is its process: between "begin" and "end" it calls at an even
// pace, and then says how long that took.
func runBystander() int {
	var told bystanderSpec
	if err := json.Unmarshal([]byte(os.Getenv(specVar)), &told); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	cl := client.New(told.REST, told.Key)
	cl.HTTP = &http.Client{Transport: &http.Transport{MaxConnsPerHost: 64, MaxIdleConnsPerHost: 64}, Timeout: 2 * time.Minute}
	call := func() error {
		got, err := cl.Invoke(context.Background(), told.Agent, client.InvokeRequest{Message: "hello"})
		if err == nil && (got.IsError || got.Text != echoed("hello")) {
			err = fmt.Errorf("answered %q", got.Text)
		}
		return err
	}
	var first errgroup.Group // calls open connections, and a server has a working set
	for range 4 {
		first.Go(func() error {
			for range told.First / 4 {
				if err := call(); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := first.Wait(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println("ready")
	orders := bufio.NewScanner(os.Stdin)
	for orders.Scan() { // ends with its parent
		if orders.Text() != "begin" {
			continue
		}
		done := make(chan struct{})
		go func() { defer close(done); orders.Scan() }()
		text, err := json.Marshal(callEvenly(done, call))
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		fmt.Printf("figures %s\n", text)
	}
	return 0
}

// callEvenly calls until done, whether or not the calls before have ended.
func callEvenly(done <-chan struct{}, call func() error) (f figures) {
	var calls sync.WaitGroup
	var mu sync.Mutex
	var took []time.Duration
	tick := time.NewTicker(paceEvery)
	defer tick.Stop()
	for going := true; going; {
		calls.Go(func() {
			begun := time.Now()
			err := call()
			mu.Lock()
			defer mu.Unlock()
			took = append(took, time.Since(begun))
			if err != nil && f.Problem == "" {
				f.Problem = err.Error()
			}
		})
		select {
		case <-tick.C:
		case <-done:
			going = false
		}
	}
	calls.Wait()
	slices.Sort(took)
	f.Calls, f.P50, f.P99 = len(took), took[len(took)/2], took[len(took)*99/100]
	return f
}

// measure has the bystander call until while returns.
func (b *bystander) measure(t testing.TB, while func()) (f figures) {
	t.Helper()
	b.measured++
	b.tell(t, "begin")
	while()
	b.tell(t, "end")
	n := b.measured
	line := b.expect(b.Out, "measure", func(line string) bool {
		if strings.HasPrefix(line, "figures ") {
			n--
		}
		return n == 0
	})
	if err := json.Unmarshal([]byte(strings.TrimPrefix(line, "figures ")), &f); err != nil {
		t.Fatal(err)
	}
	if f.Problem != "" {
		t.Errorf("a bystander's call: %s", f.Problem)
	}
	return f
}

func (b *bystander) tell(t testing.TB, order string) {
	t.Helper()
	if _, err := b.In.Write([]byte(order + "\n")); err != nil {
		t.Fatal(err)
	}
}

// keepApart leaves one processor to those who are measured, and gives everybody
// else, the attackers in this process for one, what remains of the other: in life
// they are elsewhere, and the figures should not have their own work in them.
func keepApart(t testing.TB, measured, others []*process) {
	t.Helper()
	set := func(pid int, processors string, priority int) {
		if out, err := exec.Command("taskset", "--all-tasks", "--cpu-list", "--pid", processors, strconv.Itoa(pid)).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s; this takes a machine with two processors", err, out)
		}
		threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
		if err != nil {
			t.Fatal(err)
		}
		for _, thread := range threads {
			id, _ := strconv.Atoi(thread.Name()) // a number
			if syscall.Setpriority(syscall.PRIO_PROCESS, id, priority) == syscall.EACCES {
				t.Fatal("this takes root: what this process has started has its low priority")
			}
		}
	}
	set(os.Getpid(), "1", 19)
	for _, p := range others {
		set(p.Pid(), "1", 19)
	}
	for _, p := range measured {
		set(p.Pid(), "0,1", 0)
	}
}

// suffer has somebody attack while the bystander goes on calling. The processes
// that are watched must not grow; and, where that counts, 99 of 100 calls take
// less than twice what they take without.
func (b *bystander) suffer(t testing.TB, name string, attack func()) {
	t.Helper()
	b.sufferMore(t, name, func() { pause(t.Context(), calmFor) }, attack)
}

// sufferMore is suffer where something goes on without the attack as well.
func (b *bystander) sufferMore(t testing.TB, name string, calm, attack func()) {
	t.Helper()
	for try := 1; ; try++ {
		if strict {
			b.calm = b.measure(t, calm)
		}
		under := b.sufferOnce(t, name, attack)
		if !strict || under.P99 < 2*b.calm.P99 {
			return
		}
		if try == tries || t.Failed() {
			t.Errorf("%s: 99 of 100 calls took less than %s, %s without", name, under.P99, b.calm.P99)
			return
		}
	}
}

func (b *bystander) sufferOnce(t testing.TB, name string, attack func()) figures {
	t.Helper()
	before, peaks := make([]int64, len(b.watched)), make([]*int64, len(b.watched))
	var stops []func()
	for i, p := range b.watched {
		before[i] = residentMemory(t, p.Pid())
		peak, stop := watchMemory(t, p.Pid())
		peaks[i], stops = peak, append(stops, stop)
	}
	begun := time.Now()
	under := b.measure(t, func() {
		for attack(); strict && !t.Failed() && time.Since(begun) < calmFor; {
			attack()
		}
	})
	for _, stop := range stops {
		stop()
	}
	for i, p := range b.watched {
		grown := *peaks[i] - before[i]
		t.Logf("%s: %s took %d MB more", name, p.Name, grown>>20)
		if grown > maxGrowth && !raceEnabled {
			t.Errorf("%s: %s took %d MB more", name, p.Name, grown>>20)
		}
	}
	t.Logf("%s: for %s, 50 of 100 calls took less than %s, 99 less than %s; %s and %s without",
		name, time.Since(begun).Round(time.Millisecond), under.P50, under.P99, b.calm.P50, b.calm.P99)
	return under
}

// watchMemory notes the most memory that a process has until stop.
func watchMemory(t testing.TB, pid int) (peak *int64, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var done sync.WaitGroup
	peak = new(int64)
	done.Go(func() {
		for {
			*peak = max(*peak, residentMemory(t, pid))
			if !pause(ctx, 100*time.Millisecond) {
				return
			}
		}
	})
	return peak, func() { cancel(); done.Wait() }
}

func named(kind, attack string, err error) error {
	if err != nil {
		return fmt.Errorf("%s, %s: %w", kind, attack, err)
	}
	return nil
}
