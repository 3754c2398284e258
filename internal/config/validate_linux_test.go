package config

import (
	"strings"
	"testing"
)

func TestUnwritableFolder(t *testing.T) {
	err := checkFolder("/proc/beeos-data") // not even root may write there
	if err == nil || !strings.Contains(err.Error(), "may not write in /proc") {
		t.Error(err)
	}
}
