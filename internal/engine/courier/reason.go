package courier

import (
	"errors"
	"fmt"
	"net"
	"net/url"

	"github.com/beeos/beeos"
)

const longestReason = 200 // bytes

// PublicReason is an error of an attempt in words that tell nothing about our
// network.
func PublicReason(err error) string {
	if told, ok := errors.AsType[*beeos.Error](err); ok {
		return told.Message // the address is not allowed
	}
	if slow, ok := errors.AsType[net.Error](err); ok && slow.Timeout() {
		return fmt.Sprintf("no answer within %s", AttemptWithin)
	}
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return "the host name cannot be found"
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return "the connection failed: " + beeos.Shorten(op.Err.Error(), longestReason)
	}
	if ue, ok := errors.AsType[*url.Error](err); ok {
		err = ue.Err
	}
	return beeos.Shorten(err.Error(), longestReason)
}
