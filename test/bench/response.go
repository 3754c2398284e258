package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strconv"
)

// response reads HTTP answers with as little work as possible: the load shares
// its two cores with the servers that it measures.
type response struct {
	in      *bufio.Reader
	ok      bool   // status 200
	session []byte // the Mcp-Session-Id, as long as the next answer is not read
	body    []byte
}

var (
	statusOK      = []byte("HTTP/1.1 200 ")
	contentLength = []byte("content-length:")
	chunked       = []byte("transfer-encoding: chunked")
	sessionID     = []byte("mcp-session-id:")
)

func (r *response) read() error {
	length, inChunks, err := r.head()
	r.body = r.body[:0]
	switch {
	case err != nil:
		return err
	case inChunks:
		return r.chunks()
	}
	return r.take(length)
}

// head reads up to the body.
func (r *response) head() (length int, inChunks bool, err error) {
	line, err := r.line()
	if err != nil {
		return 0, false, err
	}
	r.ok = bytes.HasPrefix(line, statusOK)
	for {
		if line, err = r.line(); err != nil || len(line) == 0 {
			return length, inChunks, err
		}
		switch {
		case hasPrefixFold(line, contentLength):
			if length, err = strconv.Atoi(string(bytes.TrimSpace(line[len(contentLength):]))); err != nil {
				return 0, false, err
			}
		case hasPrefixFold(line, chunked):
			inChunks = true
		case hasPrefixFold(line, sessionID):
			r.session = append(r.session[:0], bytes.TrimSpace(line[len(sessionID):])...)
		}
	}
}

func hasPrefixFold(line, prefix []byte) bool {
	return len(line) >= len(prefix) && bytes.EqualFold(line[:len(prefix)], prefix)
}

// line returns the next line without its end.
func (r *response) line() ([]byte, error) {
	line, err := r.in.ReadSlice('\n')
	return bytes.TrimRight(line, "\r\n"), err
}

func (r *response) chunks() error {
	for {
		line, err := r.line()
		if err != nil {
			return err
		}
		n, err := strconv.ParseInt(string(line), 16, 32)
		if err != nil {
			return fmt.Errorf("read chunk size: %w", err)
		}
		if err := r.take(int(n)); err != nil {
			return err
		}
		if _, err := r.line(); err != nil || n == 0 {
			return err
		}
	}
}

// take appends n bytes to the body.
func (r *response) take(n int) error {
	start := len(r.body)
	r.body = append(r.body, make([]byte, n)...)
	_, err := io.ReadFull(r.in, r.body[start:])
	return err
}
