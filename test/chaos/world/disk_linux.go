package world

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// Disk is a small file system, in memory, that can be full.
type Disk struct{ dir string }

const room = "size=4g" // at most: a long campaign stores more than a gigabyte

// mountDisk makes one and mounts it on a folder.
func mountDisk(dir string) (*Disk, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if err := syscall.Mount("chaos", dir, "tmpfs", 0, room); err != nil {
		return nil, fmt.Errorf("a file system of its own takes root, and the right to mount: %w", err)
	}
	return &Disk{dir}, nil
}

// CanMount returns why there can be no Disk here.
func CanMount() error {
	dir, err := os.MkdirTemp("", "beeos-chaos-disk-")
	if err != nil {
		return err
	}
	defer os.Remove(dir)
	d, err := mountDisk(dir)
	if err != nil {
		return err
	}
	return d.unmount()
}

// Fill leaves no room for more than what is there.
func (d *Disk) Fill() error {
	for {
		var now syscall.Statfs_t
		if err := syscall.Statfs(d.dir, &now); err != nil {
			return err
		}
		err := d.remount(fmt.Sprint("size=", (now.Blocks-now.Bfree)*uint64(now.Bsize)))
		if !errors.Is(err, syscall.EINVAL) { // which says that more is there by now
			return err
		}
	}
}

// Empty leaves room again.
func (d *Disk) Empty() error { return d.remount(room) }

func (d *Disk) remount(size string) error {
	return syscall.Mount("chaos", d.dir, "tmpfs", syscall.MS_REMOUNT, size)
}

// unmount forgets what is on the disk, as soon as nobody uses it.
func (d *Disk) unmount() error { return syscall.Unmount(d.dir, syscall.MNT_DETACH) }
