package check

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/outward/bridge/mcp/session"
)

// answerWith answers a form, once it is known to be one.
func answerWith(answer string) session.Hooks {
	return session.Hooks{Ask: func(_ context.Context, method string, _ json.RawMessage) (json.RawMessage, error) {
		if method != "elicitation/create" {
			return nil, beeos.Errorf(beeos.NotFound, "nobody answers %s", method)
		}
		return json.RawMessage(answer), nil
	}}
}

func elicitName(ctx context.Context, w *world) error {
	for _, one := range []struct{ answer, want string }{
		{`{"action":"accept","content":{"name":"Ada"}}`, "hello Ada"},
		{`{"action":"decline"}`, "hello nobody"},
	} {
		got, err := w.callInSession(ctx, "elicit", answerWith(one.answer))
		if err != nil {
			return err
		}
		if err := compare("elicit", got, one.want); err != nil {
			return err
		}
	}
	return nil
}

func confirmAgain(ctx context.Context, w *world) error {
	got, err := w.callInSession(ctx, "confirm", answerWith(`{"action":"accept","content":{"ok":true}}`))
	if err != nil {
		return err
	}
	return compare("confirm", got, "confirmed after asked")
}

func approveTool(ctx context.Context, w *world) error {
	for _, one := range []struct{ path, no, want string }{
		{"a.csv", "", "saved a.csv"},
		{"b.csv", "wrong folder", "not saved: wrong folder"},
	} {
		task, err := w.client().CreateTask(ctx, w.id, client.TaskRequest{Message: "approve " + one.path})
		if err != nil {
			return err
		}
		if err := decide(ctx, w, one.path, one.no); err != nil {
			return err
		}
		got, err := w.awaitTask(ctx, task.ID)
		if err != nil {
			return err
		}
		if err := compare("approve "+one.path, got, one.want); err != nil {
			return err
		}
	}
	return nil
}

// decide waits for the question about a path and says no, with this reason, or yes.
func decide(ctx context.Context, w *world, path, no string) error {
	return poll(ctx, func() (bool, error) {
		pending, err := w.client().Approvals(ctx, "pending")
		if err != nil || len(pending) == 0 {
			return false, err
		}
		a := pending[0]
		var args struct{ Path string }
		if err := json.Unmarshal(a.Arguments, &args); err != nil || a.Tool != "write_file" || args.Path != path {
			return false, fmt.Errorf("the owner is asked about %s with %s", quote(a.Tool), a.Arguments)
		}
		if no != "" {
			_, err = w.client().Reject(ctx, a.ID, no)
		} else {
			_, err = w.client().Approve(ctx, a.ID)
		}
		return err == nil, err
	})
}

func pauseTask(ctx context.Context, w *world) error {
	task, _, err := w.beginTask(ctx, "pause", "one moment")
	if err != nil {
		return err
	}
	err = poll(ctx, func() (bool, error) {
		now, err := w.client().Task(ctx, w.id, task)
		if err != nil || now.Status != beeos.TaskInputRequired {
			return false, err
		}
		if now.Question == nil || now.Question.Text != "Which one?" {
			return false, fmt.Errorf("the question is %+v", now.Question)
		}
		return true, nil
	})
	if err != nil {
		return err
	}
	if _, err := w.client().ContinueTask(ctx, w.id, task, "the second"); err != nil {
		return err
	}
	got, err := w.awaitTask(ctx, task)
	if err != nil {
		return err
	}
	return compare("pause", got, "one moment. you chose the second")
}

func exchangeFiles(ctx context.Context, w *world) error {
	var attached []client.Attachment
	for _, text := range []string{"one", "zwei ü 🐝"} {
		f, err := w.client().Upload(ctx, "in.txt", "text/plain", strings.NewReader(text), int64(len(text)))
		if err != nil {
			return err
		}
		attached = append(attached, client.Attachment{FileID: f.FileID})
	}
	answer, err := w.client().Invoke(ctx, w.id, client.InvokeRequest{Message: "files", Attachments: attached})
	if err != nil {
		return err
	}
	if err := compare("files", answer.Text, "one\nzwei ü 🐝"); err != nil {
		return err
	}
	files := answer.Files()
	if len(files) != 1 || files[0].Name != "upper.txt" {
		return fmt.Errorf("the answer has the files %+v", files)
	}
	_, content, err := w.client().Download(ctx, files[0].FileID)
	if err != nil {
		return err
	}
	defer content.Close()
	made, err := io.ReadAll(io.LimitReader(content, 1<<20))
	if err != nil {
		return err
	}
	return compare("upper.txt", string(made), "ONE\nZWEI Ü 🐝")
}
