package hands

import (
	"strings"
	"testing"
)

// TestToolFails: what a tool says with isError goes to the model, which can
// recover, and is no failure of the call.
func TestToolFails(t *testing.T) {
	bad := Invoice{Filename: Forbidden, Rows: invoice.Rows}
	w := newWorld(t, func(talk Talk) Words {
		switch last := talk.Last(); {
		case last.Role != "tool":
			return Words{Calls: []Call{Save(bad)}}
		case strings.Contains(last.Content, "permission denied"):
			return Words{Text: "The drive said: " + last.Content + ".", Calls: []Call{Save(invoice)}}
		default:
			return Words{Text: "Then it said: " + last.Content}
		}
	})
	inbox := w.window()
	call := w.caller().say(t.Context(), "file the invoice")
	for _, name := range []string{Forbidden, invoice.Filename} { // another file is another question
		if _, arguments := inbox.asked(); !strings.Contains(arguments, `"`+name+`"`) {
			t.Errorf("asked about %s, not about %s", arguments, name)
		}
		inbox.approve()
	}
	ends(t, call, "The drive said: Failed to save CSV: permission denied on /shared/invoices/.", "Then it said: "+saved)
	if files := w.drive.Files(t); len(files) != 1 || files["invoice-2024-001.csv"] == "" {
		t.Errorf("saved %v", files)
	}
}

// TestDriveDown: a drive that is away when the conversation begins is missing,
// and the model knows. One that goes away in the middle of a call has perhaps
// saved the file: the model is told just that, and nobody calls again.
func TestDriveDown(t *testing.T) {
	t.Run("from the start", func(t *testing.T) {
		w := newWorld(t, filing(invoice))
		w.drive.GoDown()
		ends(t, w.caller().say(t.Context(), "file the invoice"), "I cannot save files now.", `The tools of the skill "files" are not there now`, "cannot be reached")
		if list := w.pending(); len(list) != 0 {
			t.Errorf("somebody is asked: %+v", list)
		}
	})
	t.Run("after the approval", func(t *testing.T) {
		w := newWorld(t, filing(invoice))
		inbox := w.window()
		call := w.caller().say(t.Context(), "file the invoice")
		inbox.asked()
		w.drive.GoDown()
		inbox.approve()
		ends(t, call, "The drive says: the connection to the skill server files broke: the call may have been carried out; its result is not known")
		if n := w.drive.Executions(); len(n) != 0 {
			t.Errorf("saved %v", n)
		}
	})
	t.Run("in the middle of the call", func(t *testing.T) {
		w := newWorld(t, filing(invoice))
		inbox := w.window()
		w.drive.Hold()
		call := w.caller().say(t.Context(), "file the invoice")
		inbox.asked()
		inbox.approve()
		if err := w.drive.Begun(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		w.drive.GoDown()
		ends(t, call, "The drive says: the connection to the skill server files broke: the call may have been carried out; its result is not known")
		if n := w.drive.Executions(); len(n) != 1 {
			t.Errorf("saved %v", n)
		}
	})
}

// TestTokenForAnotherResource: an authorization server that gives a token for
// something else gives none that is any good here: the drive refuses it, the
// agent has no tools, and the token is not tried for anything.
func TestTokenForAnotherResource(t *testing.T) {
	w := newWorld(t, filing(invoice))
	const elsewhere = "https://somewhere.else/mcp"
	w.drive.Issuer.SetAudience(elsewhere)
	ends(t, w.caller().say(t.Context(), "file the invoice"), "I cannot save files now.", `The tools of the skill "files" are not there now`)
	w.checkTokens(elsewhere)
	if taken := w.drive.Guard.Accepted(); len(taken) != 0 {
		t.Errorf("the drive took %v", taken)
	}
	if len(w.drive.Executions()) != 0 || len(w.pending()) != 0 {
		t.Error("it went on all the same")
	}
}

// TestEachDriveItsOwnToken: an agent of two drives, each with an authorization
// server of its own, brings each the token that is for it and no other.
func TestEachDriveItsOwnToken(t *testing.T) {
	w := newWorld(t, filing(invoice))
	second := NewDrive(t)
	both := w.drive.Deployment("archivist", SaveCSV)
	both.Servers["archive"] = second.Deployment("", SaveCSV).Servers[Skill]
	w.model.Play(func(talk Talk) Words {
		if talk.Last().Role == "tool" {
			return Words{Text: "Both are told."}
		}
		other := Save(invoice)
		other.Tool = "archive__" + SaveCSV
		return Words{Calls: []Call{Save(invoice), other}}
	})
	w.deploy(both)
	ends(t, w.caller().say(t.Context(), "file it twice"), "Both are told.")
	if len(w.drive.Files(t)) != 1 || len(second.Files(t)) != 1 {
		t.Errorf("saved %v and %v", w.drive.Executions(), second.Executions())
	}
	w.checkTokens(w.drive.URL)
	w.drive = second
	w.checkTokens(second.URL)
}
