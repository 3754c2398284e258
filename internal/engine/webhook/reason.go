package webhook

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/beeos/beeos"
)

// reason is an error of an attempt in words that tell nothing about our
// network.
func reason(err error) string {
	if told, ok := errors.AsType[*beeos.Error](err); ok {
		return told.Message // the address is not allowed
	}
	if slow, ok := errors.AsType[net.Error](err); ok && slow.Timeout() {
		return fmt.Sprintf("no answer within %s", attemptWithin)
	}
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return "the host name cannot be found"
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return "the connection failed: " + shorten(op.Err.Error())
	}
	if ue, ok := errors.AsType[*url.Error](err); ok {
		err = ue.Err
	}
	return shorten(err.Error())
}

func shorten(s string) string {
	const most = 200
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}
