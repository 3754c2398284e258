package courier

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
)

func TestReasonsTellNothingAboutUs(t *testing.T) {
	if got := PublicReason(context.DeadlineExceeded); got != "no answer within 10s" {
		t.Error(got)
	}
	dns := &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: "x.test", Server: "10.9.8.7:53"}}
	if got := PublicReason(dns); got != "the host name cannot be found" {
		t.Errorf("%s", got)
	}
	if got := PublicReason(errors.New(strings.Repeat("ä", 500))); len(got) > 210 || !strings.HasSuffix(got, "…") {
		t.Errorf("%s", got)
	}
}
