package client

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"hob/daemon/logfile"
)

// Logs calls each for every line of the daemon's log that q selects, oldest first, without its line break. With stay it also waits for new
// lines until ctx ends. An error of each ends it and is returned; so is ErrStreamEnded when the daemon stops.
func (c *Client) Logs(ctx context.Context, q logfile.Query, stay bool, each func(line []byte) error) error {
	// Only settings that differ from the server's defaults are sent: the server refuses a limit or a turn of 0.
	values := url.Values{}
	if q.Limit > 0 {
		values.Set("limit", strconv.Itoa(q.Limit))
	}
	if q.Level > slog.LevelDebug {
		values.Set("level", q.Level.String())
	}
	if q.Turn > 0 {
		values.Set("turn", strconv.FormatInt(q.Turn, 10))
	}
	if !q.Since.IsZero() {
		values.Set("since", q.Since.Format(time.RFC3339Nano))
	}
	if stay {
		values.Set("follow", "1")
	}
	path := "/v1/logs"
	if len(values) > 0 {
		path += "?" + values.Encode()
	}
	res, err := c.send(ctx, http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	defer res.Body.Close() //nolint:errcheck // read to its end, or no longer needed
	err = eachLine(res.Body, each)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err == nil && stay:
		return ErrStreamEnded
	}
	return err
}

// eachLine calls each for every complete line.
func eachLine(r io.Reader, each func([]byte) error) error {
	in := bufio.NewReaderSize(r, 64<<10)
	for {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil // the connection ended within the line
		}
		if err != nil {
			return fmt.Errorf("read the log: %w", err)
		}
		if err := each(bytes.TrimSuffix(line, []byte("\n"))); err != nil {
			return err
		}
	}
}
