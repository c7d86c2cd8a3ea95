package signal

import (
	"bytes"
	"time"

	"hob/channels"
)

// Quiet sets the silence after which the daemon counts as gone.
func (c *Channel) Quiet(d time.Duration) { c.quiet = d }

// Read converts an event like Run does, for hob's own account id.
func (c *Channel) Read(raw []byte, own string) (m channels.Message, ok bool) {
	r := &reader{channel: c, me: me{Number: c.account, UUID: own}}
	m, ok, err := r.read(raw)
	return m, ok && err == nil
}

// Events returns the data of all events of a stream, and their ids.
func Events(stream []byte) (ids []string, data [][]byte, err error) {
	s := newEvents(bytes.NewReader(stream), func() {})
	for {
		e, err := s.next()
		if err != nil {
			return ids, data, err
		}
		ids, data = append(ids, e.ID), append(data, e.Data)
	}
}
