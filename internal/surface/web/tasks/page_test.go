package tasks

import (
	"fmt"
	"html/template"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/task"
	"github.com/beeos/beeos/test/pagetest"
)

func TestPagesRenderEmptyOneAndMany(t *testing.T) {
	all := []beeos.TaskStatus{beeos.TaskQueued, beeos.TaskInputRequired, beeos.TaskCompleted, beeos.TaskFailed, beeos.TaskCanceled}
	pagetest.RenderAll(t, pagetest.NewServer(t, templates), templates, func(n int) map[string]any {
		newTask := func(i int) row {
			return newRow(&task.Task{Turn: fmt.Sprint("turn", i), Status: all[i%5], Body: "<b>", Created: time.Now()}, "A <i>")
		}
		return map[string]any{
			"tasks": listData{Rows: pagetest.Repeat(n, newTask), Ended: n == 0, Older: "/tasks?before=x", Newest: "/tasks"},
			"task":  taskData{Row: newTask(n), Open: n > 0, Own: n > 1, Chat: "/agents/x/chat/y", Deadline: time.Now(), Said: template.HTML("<section></section>")},
		}
	}, map[string]string{"tasks": "data-task="})
}

// TestStatesHaveWords: no state that a task can have is without a word.
func TestStatesHaveWords(t *testing.T) {
	for state := range task.Transitions {
		if states[state].words == "" {
			t.Errorf("nothing is said about a task that is %s", state)
		}
	}
}
