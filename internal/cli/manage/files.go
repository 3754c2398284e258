package cli

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/client"
)

// FilesCmd is about files on the server.
type FilesCmd struct {
	Upload FilesUploadCmd `cmd:"" help:"Send a file to the server and print its id, to attach it to calls."`
	Get    FilesGetCmd    `cmd:"" help:"Print a file's bytes, or save them."`
	Link   FilesLinkCmd   `cmd:"" help:"Print a link with which anybody can download a file for an hour."`
}

// FilesUploadCmd sends a file.
type FilesUploadCmd struct {
	server
	Path string `arg:"" type:"existingfile" help:"The file."`
	JSON bool   `help:"Print JSON."`
}

// Run prints the id.
func (c *FilesUploadCmd) Run(ctx context.Context, t *terminal) error {
	cl, err := c.client()
	if err != nil {
		return err
	}
	f, err := uploadFile(ctx, cl, c.Path)
	if err != nil {
		return fmt.Errorf("send %s: %w", c.Path, err)
	}
	if c.JSON {
		return t.json(f)
	}
	_, err = fmt.Fprintln(t.out, f.FileID)
	return err
}

// oneFile is what the commands about one file have in common.
type oneFile struct {
	server
	ID string `arg:"" help:"Id of the file, as beeos files upload prints it."`
}

// hint says where ids come from, to who has a wrong one.
func (c *oneFile) hint(err error) error {
	if err != nil && beeos.CodeOf(err) == beeos.NotFound {
		return hinted{fmt.Errorf("you have no file %q", c.ID), "send one with: beeos files upload PATH"}
	}
	return err
}

// FilesGetCmd fetches a file.
type FilesGetCmd struct {
	oneFile
	Output string `short:"o" placeholder:"PATH" help:"Where to save it. Empty: print it."`
}

// Run writes the bytes.
func (c *FilesGetCmd) Run(ctx context.Context, t *terminal) error {
	cl, err := c.client()
	if err != nil {
		return err
	}
	_, content, err := cl.Download(ctx, c.ID)
	if err != nil {
		return c.hint(err)
	}
	defer content.Close()
	if c.Output == "" {
		_, err = io.Copy(t.out, content)
		return err
	}
	f, err := os.OpenFile(c.Output, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return fmt.Errorf("save the file: %w", err) // what is there stays as it is
	}
	if _, err := io.Copy(f, content); err != nil {
		f.Close() //nolint:errcheck // it is incomplete anyway
		return fmt.Errorf("save the file: %w", err)
	}
	return f.Close()
}

// FilesLinkCmd makes a link.
type FilesLinkCmd struct {
	oneFile
	JSON bool `help:"Print JSON."`
}

// Run prints the link.
func (c *FilesLinkCmd) Run(ctx context.Context, t *terminal) error {
	cl, err := c.client()
	if err != nil {
		return err
	}
	var f *client.File
	if f, err = cl.File(ctx, c.ID); err != nil {
		return c.hint(err)
	}
	if c.JSON {
		return t.json(f)
	}
	if f.DownloadURL == "" {
		return fmt.Errorf("the file has not been uploaded yet")
	}
	_, err = fmt.Fprintln(t.out, f.DownloadURL)
	return err
}
