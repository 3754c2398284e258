package beeos

// TaskStatus is how a request stands, in the words of the REST surface.
type TaskStatus string

const (
	TaskQueued        TaskStatus = "queued"         // no instance of the agent has it
	TaskRunning       TaskStatus = "running"        // one has
	TaskInputRequired TaskStatus = "input_required" // the agent waits for its caller's words
	TaskAuthRequired  TaskStatus = "auth_required"  // the agent waits for its caller's consent
	TaskCompleted     TaskStatus = "completed"
	TaskFailed        TaskStatus = "failed"
	TaskCanceled      TaskStatus = "canceled"
	TaskTimeout       TaskStatus = "timeout"  // its deadline passed
	TaskRejected      TaskStatus = "rejected" // the agent refused, or was busy
)

// Terminal reports whether nothing can change the task any more.
func (s TaskStatus) Terminal() bool {
	switch s {
	case TaskCompleted, TaskFailed, TaskCanceled, TaskTimeout, TaskRejected:
		return true
	}
	return false
}
