package backup

import (
	"context"
	"fmt"

	"charm.land/lipgloss/v2"

	"github.com/beeos/beeos/internal/app"
	"github.com/beeos/beeos/internal/cli/remote"
	"github.com/beeos/beeos/internal/cli/terminal"
	"github.com/beeos/beeos/internal/config"
	"github.com/beeos/beeos/internal/store/verify"
)

// VerifyCmd looks for damage.
type VerifyCmd struct {
	config.Config `embed:""`
	WithoutFiles  bool `help:"Do not read the bytes of files."`
	JSON          bool `help:"Print JSON."`
}

// Run checks everything and changes nothing. It fails when something is wrong.
func (c *VerifyCmd) Run(ctx context.Context, t *terminal.Terminal) error {
	if c.DatabaseURL == "" {
		c.Data = remote.DataFolder(c.Data)
	}
	report, err := app.Verify(ctx, c.Config, !c.WithoutFiles)
	if err != nil {
		return err
	}
	if c.JSON {
		err = t.PrintJSON(report)
	} else {
		printReport(t, &report)
	}
	if err == nil && !report.Clean() {
		err = terminal.ErrFindings
	}
	return err
}

func printReport(t *terminal.Terminal, r *verify.Report) {
	for _, check := range r.Checks {
		mark := terminal.Green.Render("ok  ")
		if check.Problems > 0 {
			mark = terminal.Red.Render("FAIL")
		}
		told := 0
		lipgloss.Fprintln(t.Out, mark, fmt.Sprintf("%-10s", check.Name), check.Looked) //nolint:errcheck // the exit code tells too
		for _, f := range r.Findings {
			if f.Check == check.Name {
				told++
				lipgloss.Fprintln(t.Out, "       ", terminal.Printable(f.ID), terminal.Printable(f.Problem)) //nolint:errcheck // the exit code tells too
			}
		}
		if more := check.Problems - told; more > 0 {
			lipgloss.Fprintln(t.Out, "       ", fmt.Sprintf("and %d more", more)) //nolint:errcheck // the exit code tells too
		}
	}
	if !r.Clean() {
		t.Say("the ledger is damaged; restore a backup from before into an empty folder with: beeos restore FILE")
	}
}
