package outbound

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
)

// Event is one server-sent event.
type Event struct {
	ID, Data string
	retry    bool // the server asks the reader to hang up and come back
}

// ReadEvents reads a stream of server-sent events whose lines are no longer than
// longest. It ends with the stream; one that breaks off yields an error last.
func ReadEvents(r io.Reader, longest int) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		lines := bufio.NewScanner(r)
		lines.Buffer(nil, longest)
		lines.Split(splitLines)
		var e Event
		var data []string
		for lines.Scan() {
			line := lines.Text()
			if line == "" {
				if data != nil || e.retry {
					e.Data = strings.Join(data, "\n")
					if !yield(e, nil) {
						return
					}
				}
				e.Data, e.retry, data = "", false, nil // the id stays, by the standard
				continue
			}
			field, value, _ := strings.Cut(line, ":")
			value = strings.TrimPrefix(value, " ")
			switch field {
			case "data":
				data = append(data, value)
			case "id":
				e.ID = value
			case "retry":
				e.retry = true
			}
		}
		err := lines.Err()
		if errors.Is(err, bufio.ErrTooLong) {
			err = ErrTooLarge
		}
		if err != nil {
			yield(Event{}, fmt.Errorf("the stream broke off: %w", err))
		}
	}
}

// splitLines ends lines at \n, \r\n or \r, as the standard wants it.
func splitLines(data []byte, atEOF bool) (advance int, token []byte, err error) {
	i := bytes.IndexAny(data, "\r\n")
	switch {
	case i < 0 && atEOF && len(data) > 0:
		return len(data), data, nil
	case i < 0:
		return 0, nil, nil
	case data[i] == '\n':
		return i + 1, data[:i], nil
	case i+1 < len(data) && data[i+1] == '\n':
		return i + 2, data[:i], nil
	case i+1 < len(data) || atEOF:
		return i + 1, data[:i], nil
	}
	return 0, nil, nil // is it \r\n? the next byte says
}
