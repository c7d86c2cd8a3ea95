package ntfy

import (
	"bufio"
	"bytes"
)

// Lines reads a whole stream like Run does, and returns the ids and texts of its messages.
func (c *Channel) Lines(b []byte) (ids, texts []string, err error) {
	err = c.lines(bytes.NewReader(b), func(m message) error {
		if m.Event == eventMessage {
			ids, texts = append(ids, m.ID), append(texts, m.text())
		}
		return nil
	})
	return ids, texts, err
}

// LineLengths reads lines until the end.
func LineLengths(b []byte) (n []int, err error) {
	r := bufio.NewReaderSize(bytes.NewReader(b), 4<<10)
	for {
		line, err := readLine(r)
		if err != nil {
			return n, err
		}
		n = append(n, len(line))
	}
}
