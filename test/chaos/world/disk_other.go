//go:build unix && !linux

package world

import "errors"

// Disk is Linux's.
type Disk struct{}

var errNoDisk = errors.New("a file system of its own takes Linux")

func mountDisk(string) (*Disk, error) { return nil, errNoDisk }

// CanMount returns why there can be no Disk here.
func CanMount() error { return errNoDisk }

// Fill and Empty are never called.
func (*Disk) Fill() error    { return errNoDisk }
func (*Disk) Empty() error   { return errNoDisk }
func (*Disk) unmount() error { return errNoDisk }
