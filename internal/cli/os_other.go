//go:build !unix

package cli

import "errors"

func freeDisk(string) (uint64, error) { return 0, errors.ErrUnsupported }
