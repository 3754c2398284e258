package mcp_test

import (
	"testing"

	"github.com/beeos/beeos/test/bridgetest"
)

func TestMain(m *testing.M) { bridgetest.Main(m) }
