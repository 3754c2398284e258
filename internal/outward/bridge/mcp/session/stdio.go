package session

import (
	"context"
	"log/slog"
	"net/http"
	"os/exec"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/beeos/beeos/internal/outward/bridge/upstream"
)

// link carries JSON-RPC messages to one MCP server and back.
type link interface {
	// read waits for the next message; an error is the end of the link.
	read(ctx context.Context) (incoming, error)
	// write sends a message. What it answers lives no longer than ctx. The
	// header is for links that have one.
	write(ctx context.Context, msg jsonrpc.Message, header http.Header) error
	// setRevision says which revision was agreed on.
	setRevision(revision string)
	close()
}

// incoming is a message from the server, and the request on whose stream it
// came, where a link can tell.
type incoming struct {
	msg jsonrpc.Message
	of  jsonrpc.ID
}

// stdio is the link to a program that speaks MCP on its stdin and stdout.
type stdio struct {
	mcp.Connection
	log *slog.Logger
}

func StartStdio(ctx context.Context, command []string, dir string, env []string, log *slog.Logger) (link, error) {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir, cmd.Env, cmd.Stderr, cmd.WaitDelay = dir, env, &upstream.LineLog{Log: log}, upstream.ExitWithin
	conn, err := (&mcp.CommandTransport{Command: cmd, TerminateDuration: upstream.ExitWithin}).Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &stdio{conn, log}, nil
}

func (p *stdio) read(ctx context.Context) (incoming, error) {
	msg, err := p.Read(ctx)
	return incoming{msg: msg}, err
}

func (p *stdio) write(ctx context.Context, msg jsonrpc.Message, _ http.Header) error {
	return p.Write(ctx, msg)
}

func (p *stdio) setRevision(string) {}

func (p *stdio) close() {
	if err := p.Close(); err != nil {
		p.log.Debug("the program was stopped", "err", err)
	}
}
