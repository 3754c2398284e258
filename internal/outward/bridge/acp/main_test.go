package acp_test

import (
	"os"
	"testing"

	"github.com/beeos/beeos/test/bridgetest"
)

func TestMain(m *testing.M) {
	if how := os.Getenv("ACP_TEST_AGENT"); how != "" {
		runAgent(how)
		return
	}
	bridgetest.Main(m)
}
