//go:build !unix

package app

import "os"

func taken(*os.File) bool { return false }
