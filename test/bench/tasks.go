package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// tasks weighs open event streams, each of a task of its own whose agent has
// said one word, and what they cost while nothing happens.
func tasks(ctx context.Context, s settings) (string, error) {
	if err := enoughFiles(s.watched); err != nil {
		return "", err
	}
	b, id, stop, err := startServer(ctx, s.server, "fsync", 0)
	if err != nil {
		return "", err
	}
	defer stop()
	if _, err := load(ctx, b.invokeTarget(id, "application/json"), 64, warmUp, b.process); err != nil {
		return "", err
	}
	before, err := b.memory()
	if err != nil {
		return "", err
	}
	begun := time.Now()
	_, leave, err := b.startReaders(ctx, reading{Addr: b.rest, Path: "/api/v1/agents/" + id + "/tasks", Keys: b.keys, Streams: s.watched, Task: true})
	if err != nil {
		return "", err
	}
	defer leave()
	opened := time.Since(begun)
	after, err := b.memory()
	if err != nil {
		return "", err
	}
	cpu, from := b.cpu(), time.Now()
	select {
	case <-time.After(noteFor):
	case <-ctx.Done():
		return "", ctx.Err()
	}
	busy := float64(b.cpu()-cpu) / float64(time.Since(from))
	grown := after.minus(before)
	kb := func(n int64) float64 { return float64(n) / float64(s.watched) / 1024 }
	return fmt.Sprintf("| open streams | opened in | heap and stacks per stream | resident before | with all open | resident per stream | CPU while idle |\n|---:|---:|---:|---:|---:|---:|---:|\n| %d | %.0f s | %.1f KB | %d MB | %d MB | %.1f KB | %.1f %% of a core |\n",
		s.watched, opened.Seconds(), kb(grown.live), before.resident>>20, after.resident>>20, kb(grown.resident), busy*100), nil
}

// openTask makes a task and returns when its agent has said something.
func (r *reading) openTask(x *reader, key string) error {
	answer := response{in: x.in}
	credential := "Authorization: Bearer " + key
	if _, err := x.conn.Write(post(r.Addr, r.Path, `{"message":"`+holdText+`"}`, "", credential).requests[0]); err != nil {
		return err
	}
	if err := answer.read(); err != nil {
		return err
	}
	var made struct {
		Data struct {
			TaskID string `json:"task_id"`
		}
	}
	if err := json.Unmarshal(answer.body, &made); err != nil || made.Data.TaskID == "" {
		return fmt.Errorf("no task: %s", answer.body)
	}
	if _, err := fmt.Fprintf(x.conn, "GET %s/%s/events HTTP/1.1\r\nHost: %s\r\nAccept: text/event-stream\r\n%s\r\n\r\n", r.Path, made.Data.TaskID, r.Addr, credential); err != nil {
		return err
	}
	if _, _, err := answer.head(); err != nil || !answer.ok {
		return errors.Join(errors.New("the stream was refused"), err)
	}
	for {
		line, err := x.in.ReadSlice('\n')
		if err != nil {
			return err
		}
		if bytes.Contains(line, []byte("agent_reply_delta")) {
			return nil
		}
	}
}
