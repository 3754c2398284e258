package talk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"os"
	"path/filepath"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/cli/remote"
	"github.com/beeos/beeos/internal/cli/terminal"
)

// FilesCmd is about files on the server.
type FilesCmd struct {
	Upload FilesUploadCmd `cmd:"" help:"Send a file to the server and print its id, to attach it to calls."`
	Get    FilesGetCmd    `cmd:"" help:"Print a file's bytes, or save them."`
	Link   FilesLinkCmd   `cmd:"" help:"Print a link with which anybody can download a file for an hour."`
}

// FilesUploadCmd sends a file.
type FilesUploadCmd struct {
	remote.Server
	Path string `arg:"" type:"existingfile" help:"The file."`
	JSON bool   `help:"Print JSON."`
}

// Run prints the id.
func (c *FilesUploadCmd) Run(ctx context.Context, t *terminal.Terminal, cl *client.Client) error {
	f, err := uploadFile(ctx, cl, c.Path)
	if err != nil {
		return err
	}
	return t.PrintEither(c.JSON, f, f.FileID)
}

func uploadFile(ctx context.Context, cl *client.Client, path string) (sent *client.File, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("send %s: %w", path, err)
		}
	}()
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	kind := cmp.Or(mime.TypeByExtension(filepath.Ext(path)), "application/octet-stream")
	return cl.Upload(ctx, filepath.Base(path), kind, f, info.Size())
}

// oneFile is what the commands about one file have in common.
type oneFile struct {
	remote.Server
	ID string `arg:"" help:"Id of the file, as beeos files upload prints it."`
}

// addHint says where ids come from, to who has a wrong one.
func (c *oneFile) addHint(err error) error {
	return terminal.HintOn(beeos.NotFound, err, fmt.Sprintf("you have no file %q", c.ID), "send one with: beeos files upload PATH")
}

// FilesGetCmd fetches a file.
type FilesGetCmd struct {
	oneFile
	Output string `short:"o" placeholder:"PATH" help:"Where to save it. Empty: print it."`
}

// Run writes the bytes.
func (c *FilesGetCmd) Run(ctx context.Context, t *terminal.Terminal, cl *client.Client) error {
	_, content, err := cl.Download(ctx, c.ID)
	if err != nil {
		return c.addHint(err)
	}
	defer content.Close()
	if c.Output == "" {
		_, err = io.Copy(t.Out, content)
		return err
	}
	f, err := os.OpenFile(c.Output, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644) // what is there stays as it is
	if err == nil {
		_, err = io.Copy(f, content)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return fmt.Errorf("save the file: %w", err)
	}
	return nil
}

// FilesLinkCmd makes a link.
type FilesLinkCmd struct {
	oneFile
	JSON bool `help:"Print JSON."`
}

// Run prints the link.
func (c *FilesLinkCmd) Run(ctx context.Context, t *terminal.Terminal, cl *client.Client) error {
	f, err := cl.File(ctx, c.ID)
	if err != nil {
		return c.addHint(err)
	}
	if !c.JSON && f.DownloadURL == "" {
		return errors.New("the file has not been uploaded yet")
	}
	return t.PrintEither(c.JSON, f, f.DownloadURL)
}
