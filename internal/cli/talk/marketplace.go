package talk

import (
	"cmp"
	"context"
	"strconv"
	"strings"

	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/cli/remote"
	"github.com/beeos/beeos/internal/cli/terminal"
)

// MarketplaceCmd finds agents of others.
type MarketplaceCmd struct {
	remote.Server
	Search []string `arg:"" optional:"" help:"Words that are all in the name, the description or a skill."`
	Tag    string   `help:"Only those with a skill of this tag."`
	Owner  string   `placeholder:"ID" help:"All that this person shows, their public agents, too."`
	Limit  int      `default:"50" help:"At most how many."`
	JSON   bool     `help:"Print JSON."`
}

// Run lists what is offered.
func (c *MarketplaceCmd) Run(ctx context.Context, t *terminal.Terminal, cl *client.Client) error {
	f := client.MarketplaceFilter{Query: strings.Join(c.Search, " "), Tag: c.Tag, OwnerID: c.Owner}
	var offers []client.Offer
	more := false
	for o, err := range cl.Marketplace(ctx, f) {
		if err != nil {
			return err
		}
		if more = len(offers) >= max(c.Limit, 1); more {
			break
		}
		offers = append(offers, o)
	}
	if len(offers) == 0 && !c.JSON {
		t.Note("%s", describeNoOffers(f))
		return nil
	}
	err := terminal.PrintList(t, c.JSON, offers, "NAME ID OWNER STATE SKILLS DESCRIPTION", func(o *client.Offer) []string {
		state := "offline"
		if o.Online {
			state = "online"
		}
		return []string{cmp.Or(o.DisplayName, o.Name), o.ID, o.Owner, state, strconv.Itoa(len(o.Skills)), terminal.Shorten(o.Description, 60)}
	})
	if more {
		t.Note("there are more; see them with --limit, or search")
	}
	if !c.JSON {
		t.Note("ask one with: beeos call ID MESSAGE")
	}
	return err
}

func describeNoOffers(f client.MarketplaceFilter) string {
	if f != (client.MarketplaceFilter{}) {
		return "no agent that is offered fits; see all with: beeos marketplace"
	}
	return "nobody offers an agent; offer one of yours with: beeos agent set NAME --visibility marketplace"
}
