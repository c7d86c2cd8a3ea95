package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"hob/daemon/event"
)

// Frame is one item of the event stream: a stored event, a live piece of text, or Start.
type Frame struct {
	Event *event.Event
	Piece *event.Piece
	// Start is set in a first frame without event and live text: the stream begins after this event, because the requested one does not
	// exist.
	Start int64
}

// ErrStreamEnded is returned when the daemon closed the stream because it is stopping.
var ErrStreamEnded = errors.New("hob has closed the stream")

// Follow calls each for every event after the given seq. With stay it then waits for new events until ctx ends; without, it returns nil
// after the newest one. If the event after does not exist yet, the stream begins at the newest, and a first frame has Start. An error of
// each ends the stream and is returned.
func (c *Client) Follow(ctx context.Context, after int64, stay bool, each func(Frame) error) error {
	path := "/v1/events?after=" + strconv.FormatInt(after, 10)
	if !stay {
		path += "&follow=0"
	}
	res, err := c.send(ctx, http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	defer res.Body.Close() //nolint:errcheck // read to its end, or no longer needed
	// The daemon names the true beginning of the stream in a header. It differs after a restore, when numbers begin lower.
	start, err := strconv.ParseInt(res.Header.Get("Hob-After"), 10, 64)
	if err == nil && start != after {
		if err := each(Frame{Start: start}); err != nil {
			return err
		}
	}
	err = frames(res.Body, each)
	if err == nil && stay {
		err = ErrStreamEnded
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// frames reads server-sent events (HTML Living Standard, section 9.2.6), as far as the daemon uses them: an event name and data, ended by
// an empty line.
func frames(r io.Reader, each func(Frame) error) error {
	in := bufio.NewReaderSize(r, 64<<10)
	var name string
	var data []byte
	for {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read events: %w", err)
		}
		line = bytes.TrimRight(line, "\r\n")
		key, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(key) {
		case "event":
			name = string(value)
		case "data":
			data = append(data, value...)
		}
		// Only an empty line after data ends an event; comments keep the connection alive.
		if len(line) > 0 || len(data) == 0 {
			continue
		}
		f, err := frame(name, data)
		if err == nil {
			err = each(f)
		}
		if err != nil {
			return err
		}
		name, data = "", nil
	}
}

// frame decodes the data of one event. Live pieces have a name of their own, as they are not stored.
func frame(name string, data []byte) (Frame, error) {
	var f Frame
	var into any
	if name == "text.delta" || name == "tool.output" {
		f.Piece = &event.Piece{}
		into = f.Piece
	} else {
		f.Event = &event.Event{}
		into = f.Event
	}
	if err := json.Unmarshal(data, into); err != nil {
		return Frame{}, fmt.Errorf("event %s is not understood: %w", name, err)
	}
	return f, nil
}
