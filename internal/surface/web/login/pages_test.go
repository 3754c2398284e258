package login

import (
	"fmt"
	"strings"
	"testing"

	"github.com/beeos/beeos/test/pagetest"
)

func TestEveryPageRendersEmptyOneAndMany(t *testing.T) {
	pagetest.RenderAll(t, pagetest.NewServer(t, templates), templates, func(n int) map[string]any {
		return map[string]any{
			"consent": consentData{Name: "Claude", SendsTo: "claude.ai", Agents: pagetest.Repeat(n, func(i int) consentAgent {
				return consentAgent{fmt.Sprint("agent_", i), "A", "Does things.", i == 0, true}
			})},
			"signin":  formData{Provider: strings.Repeat("login.example", min(n, 1)), First: n == 0},
			"welcome": linkData{Setup: n == 0, Reset: n == 1, Token: "t"},
			"back":    backData{"http://127.0.0.1/x", n > 0},
		}
	}, map[string]string{"consent": `name="agent"`})
}
