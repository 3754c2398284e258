package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"mime"
	"os"
	"path/filepath"

	"github.com/beeos/beeos/client"
)

// upload sends the files of --file to the server.
func (c *CallCmd) upload(ctx context.Context, cl *client.Client) ([]client.Attachment, error) {
	var files []client.Attachment
	for _, path := range c.File {
		f, err := uploadFile(ctx, cl, path)
		if err != nil {
			return nil, fmt.Errorf("send %s: %w", path, err)
		}
		files = append(files, client.Attachment{FileID: f.FileID})
	}
	return files, nil
}

func uploadFile(ctx context.Context, cl *client.Client, path string) (*client.File, error) {
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

// withFiles puts attachments among the arguments of a tool, where MCP has them.
func withFiles(args json.RawMessage, files []client.Attachment) (json.RawMessage, error) {
	if len(files) == 0 {
		return args, nil
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(args, &object); err != nil {
		return nil, fmt.Errorf("read --args: %w", err)
	}
	list, err := json.Marshal(files)
	if err != nil {
		return nil, fmt.Errorf("encode the attachments: %w", err)
	}
	object["attachments"] = list
	return json.Marshal(object)
}
