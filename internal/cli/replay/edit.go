package replay

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/cli/terminal"
)

// editInput lets a person change what was said, in their editor.
func editInput(ctx context.Context, t *terminal.Terminal, was *client.CallDetail, r *client.ReplayRequest) error {
	switch was.Request.Method {
	case "":
		text, err := editText(ctx, t, was.Request.Text, "txt")
		if err != nil {
			return err
		}
		if strings.TrimSpace(text) == "" {
			return terminal.Hint("nothing is left to say", "leave --edit out to say the same again")
		}
		if text != was.Request.Text {
			r.Text = &text
		}
	case "tools/call":
		var b bytes.Buffer
		if json.Indent(&b, was.Request.Arguments, "", "  ") != nil {
			b.WriteString("{}")
		}
		text, err := editText(ctx, t, b.String(), "json")
		if err != nil {
			return err
		}
		if !json.Valid([]byte(text)) {
			return terminal.Hint("what you wrote is not JSON", "edit it again")
		}
		if text != b.String() {
			r.Arguments = json.RawMessage(text)
		}
	default:
		return terminal.Hint("a "+was.Request.Method+" cannot be edited", "leave --edit out")
	}
	return nil
}

// editText opens the person's editor on a text and returns what became of it.
func editText(ctx context.Context, t *terminal.Terminal, text, ext string) (string, error) {
	f, err := os.CreateTemp("", "beeos-replay-*."+ext) // for nobody else to read
	if err != nil {
		return "", err
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString(text)
	if err := errors.Join(err, f.Close()); err != nil {
		return "", err
	}
	editor := strings.Fields(cmp.Or(os.Getenv("VISUAL"), os.Getenv("EDITOR"), "vi"))
	cmd := exec.CommandContext(ctx, editor[0], append(editor[1:], f.Name())...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = t.In, t.Out, t.Err
	if err := cmd.Run(); err != nil {
		return "", terminal.AddHint(fmt.Errorf("%s: %w", editor[0], err), "set EDITOR to an editor that is there")
	}
	edited, err := os.ReadFile(f.Name())
	if err != nil {
		return "", err
	}
	if !strings.HasSuffix(text, "\n") { // which editors add
		edited = bytes.TrimSuffix(edited, []byte("\n"))
	}
	return string(edited), nil
}
